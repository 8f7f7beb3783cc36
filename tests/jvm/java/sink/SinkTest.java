package ksqlpy.sink;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import ksqlpy.once.Coordinates;
import ksqlpy.once.Key;
import ksqlpy.once.Vectors;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** SinkValue puts together what SinkInterceptor takes apart, both as ever: header_vectors.json. */
final class SinkTest {
  static Stream<Vectors> vectors() throws IOException {
    return Vectors.all().stream();
  }

  private static ProducerRecord<byte[], byte[]> sent(Vectors vector, Header... headers) throws IOException {
    SinkInterceptor interceptor = new SinkInterceptor();
    Key.keep("sink", Vectors.key());
    interceptor.configure(Map.of("client.id", vector.query(), Key.SETTING, "sink"));
    byte[] key = {1};
    return interceptor.onSend(new ProducerRecord<>("t", 2, 99L, key, vector.sent(), List.of(headers)));
  }

  private static InternalRow row(Object... values) {
    return new GenericInternalRow(values);
  }

  @ParameterizedTest
  @MethodSource("vectors")
  void aValueIsPutTogetherAsEver(Vectors vector) {
    List<Object> given = new ArrayList<>();
    given.add(vector.rowtime());
    Vectors.At at = vector.at();
    given.add(row(vector.value(), at == null ? null : at.groupBytes()));
    if (at != null) {
      given.addAll(List.of(at.place(), at.offset(), at.window()));
      for (long seen : at.seen()) {
        given.add(seen);
      }
    }
    SinkValue function = new SinkValue(given.size());
    assertArrayEquals(vector.sent(), function.produceResult(row(given.toArray())));
    if (at == null) {
      assertArrayEquals(vector.sent(), function.invoke(vector.rowtime(), row(vector.value(), null)));
    } else if (at.seen().length == 0) {
      InternalRow value = row(vector.value(), at.groupBytes());
      assertArrayEquals(
          vector.sent(), function.invoke(vector.rowtime(), value, at.place(), at.offset(), at.window()));
    } else if (at.seen().length == 1) {
      InternalRow value = row(vector.value(), at.groupBytes());
      assertArrayEquals(
          vector.sent(),
          function.invoke(vector.rowtime(), value, at.place(), at.offset(), at.window(), at.seen()[0]));
    }
  }

  @ParameterizedTest
  @MethodSource("vectors")
  void itIsTakenApartAgain(Vectors vector) throws IOException {
    ProducerRecord<byte[], byte[]> record = sent(vector);
    assertEquals("t", record.topic());
    assertEquals(2, record.partition());
    assertArrayEquals(new byte[] {1}, record.key());
    assertArrayEquals(vector.value(), record.value());
    assertEquals(vector.rowtime() < 0 ? null : vector.rowtime(), record.timestamp());
    Header header = record.headers().lastHeader(Coordinates.HEADER);
    if (vector.header() == null) {
      assertNull(header);
    } else {
      assertArrayEquals(vector.signed(), header.value());
    }
  }

  @Test
  void headersOfASourceAreKeptButItsCoordinates() throws IOException {
    Vectors vector = vectors().filter(v -> v.header() != null).findFirst().orElseThrow();
    Header copied = new RecordHeader(Coordinates.HEADER, new byte[] {9, 9, 9, 9, 9});
    Header own = new RecordHeader("own", new byte[] {7});
    ProducerRecord<byte[], byte[]> record = sent(vector, copied, own);
    List<String> names =
        StreamSupport.stream(record.headers().spliterator(), false).map(Header::key).toList();
    assertEquals(List.of("own", Coordinates.HEADER), names);
    assertArrayEquals(vector.signed(), record.headers().lastHeader(Coordinates.HEADER).value());
  }

  @Test
  void coordinatesAreThreeOrMore() {
    for (int arguments : new int[] {0, 1, 3, 4}) {
      assertThrows(UnsupportedOperationException.class, () -> new SinkValue(arguments));
    }
  }
}
