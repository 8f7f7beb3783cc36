package ksqlpy.sink;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import ksqlpy.once.Coordinates;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.junit.jupiter.api.Test;

/** Results that are too large become dead letters, and dead letters are cut to what fits. */
final class TooLargeTest {
  private static final String NAMES =
      "{\"topic\":\"s.topic\",\"partition\":\"s.partition\",\"offset\":\"s.offset\",\"reason\":\"s.reason\","
          + "\"timestamp\":\"s.timestamp\",\"query\":\"s.query\",\"topicId\":\"s.id\",\"result\":\"s.result\",\"cut\":\"s.cut\"}";

  private static String limits(String query, int tables, boolean moved, String topics) {
    return "{\"query\":\"" + query + "\",\"dead\":\"dead\",\"results\":\"out\",\"tables\":" + tables
        + ",\"moved\":" + moved + ",\"sources\":[\"a\",\"b\"],\"ids\":{\"b\":\"of b\"},\"names\":" + NAMES
        + ",\"topics\":" + topics + "}";
  }

  private static SinkInterceptor interceptor(String query, Map<String, ?> more) {
    Map<String, Object> settings = new HashMap<>(more);
    settings.put("client.id", query);
    settings.put("ksqlpy.query", query);
    SinkInterceptor made = new SinkInterceptor();
    made.configure(settings);
    return made;
  }

  /** What a plan gives for record 77 of partition 3 of topic b, window 5. */
  private static byte[] given(byte[] value, boolean marked, long... seen) {
    int place = 1 << 16 | 3;
    Object[] row = new Object[5 + seen.length];
    row[0] = 1234L;
    row[1] = new GenericInternalRow(new Object[] {value, new byte[] {0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 8}});
    row[2] = marked ? place : -1 - place;
    row[3] = 77L;
    row[4] = 5L;
    for (int i = 0; i < seen.length; i++) {
      row[5 + i] = seen[i];
    }
    return new SinkValue(row.length).produceResult(new GenericInternalRow(row));
  }

  private static String text(ProducerRecord<byte[], byte[]> record, String name) {
    Header found = record.headers().lastHeader(name);
    return found == null ? null : new String(found.value(), StandardCharsets.UTF_8);
  }

  private static ProducerRecord<byte[], byte[]> record(String topic, byte[] key, byte[] value, Header... headers) {
    return new ProducerRecord<>(topic, null, null, key, value, List.of(headers));
  }

  private static byte[] noise(int length) {
    byte[] made = new byte[length];
    new Random(length).nextBytes(made);
    return made;
  }

  /** The coordinates in the header of a record that is not signed. */
  private static Coordinates at(ProducerRecord<byte[], byte[]> record, int tables) {
    byte[] header = record.headers().lastHeader(Coordinates.HEADER).value();
    return Coordinates.read(header, header.length, tables);
  }

  @Test
  void aResultOfUsualSizeStaysWhatItIs() throws IOException {
    Limits.set("usual", limits("usual", 0, true, "{\"out\":{\"most\":5000,\"codec\":\"producer\"},\"dead\":{}}"));
    ProducerRecord<byte[], byte[]> sent =
        interceptor("usual", Map.of()).onSend(record("out", new byte[] {1}, given(noise(4000), true)));
    assertEquals("out", sent.topic());
    assertArrayEquals(noise(4000), sent.value());
    assertEquals(1, sent.headers().toArray().length);
    ProducerRecord<byte[], byte[]> tombstone =
        interceptor("usual", Map.of()).onSend(record("out", new byte[] {1}, given(null, true)));
    assertEquals("out", tombstone.topic());
    assertNull(tombstone.value());
  }

  @Test
  void aResultThatIsTooLargeSaysWhereItIsFrom() throws IOException {
    String topics = "{\"out\":{\"most\":5000,\"codec\":\"producer\"},\"dead\":{\"most\":3000,\"codec\":\"producer\"}}";
    Limits.set("big", limits("big", 1, true, topics));
    RecordHeader trace = new RecordHeader("trace", new byte[] {7});
    ProducerRecord<byte[], byte[]> letter =
        interceptor("big", Map.of()).onSend(record("out", new byte[] {1}, given(noise(9000), true, 42), trace));
    assertEquals("dead", letter.topic());
    assertNull(letter.partition());
    assertEquals(1234L, letter.timestamp());
    assertArrayEquals(new byte[] {1}, letter.key());
    assertTrue(letter.value().length > 2000 && letter.value().length < 3000);
    assertArrayEquals(Arrays.copyOf(noise(9000), letter.value().length), letter.value());
    assertTrue(Sizes.of(letter) <= 3000 && Sizes.of(letter) >= 2990);
    assertEquals("b", text(letter, "s.topic"));
    assertEquals("of b", text(letter, "s.id"));
    assertEquals("3", text(letter, "s.partition"));
    assertEquals("77", text(letter, "s.offset"));
    assertEquals("1234", text(letter, "s.timestamp"));
    assertEquals("big", text(letter, "s.query"));
    assertEquals("out", text(letter, "s.result"));
    assertEquals("1:9000", text(letter, "s.cut"));
    assertTrue(text(letter, "s.reason").endsWith("the topic takes 5000 (max.message.bytes, segment.bytes)"));
    assertEquals("trace", letter.headers().toArray()[0].key());
    Coordinates at = at(letter, 1);
    assertEquals(1 << 16 | 3, at.place());
    assertEquals(77, at.offset());
    assertEquals(5 + DeadLetters.NO_RESULT, at.window());
    assertArrayEquals(new long[] {42}, at.seen());
    assertEquals(0, at.group().length);
  }

  @Test
  void theNumberStaysWhereNothingIsOrdered() throws IOException {
    Limits.set("flat", limits("flat", 0, false, "{\"out\":{\"most\":500,\"codec\":\"producer\"},\"dead\":{}}"));
    ProducerRecord<byte[], byte[]> letter =
        interceptor("flat", Map.of()).onSend(record("out", null, given(noise(900), true)));
    assertEquals(5, at(letter, 0).window());
    assertNull(text(letter, "s.cut"));
    assertArrayEquals(noise(900), letter.value());
  }

  @Test
  void atLeastOnceHasNoCoordinatesButAPlace() throws IOException {
    Limits.set("least", limits("least", 0, true, "{\"out\":{\"most\":500,\"codec\":\"producer\"},\"dead\":{}}"));
    SinkInterceptor interceptor = interceptor("least", Map.of());
    ProducerRecord<byte[], byte[]> small = interceptor.onSend(record("out", null, given(noise(9), false)));
    assertEquals(0, small.headers().toArray().length);
    ProducerRecord<byte[], byte[]> letter = interceptor.onSend(record("out", null, given(noise(900), false)));
    assertNull(letter.headers().lastHeader(Coordinates.HEADER));
    assertEquals("b", text(letter, "s.topic"));
    assertEquals("3", text(letter, "s.partition"));
    assertEquals("77", text(letter, "s.offset"));
  }

  @Test
  void aLetterIsCutDownToItsKey() throws IOException {
    Limits.set("cut", limits("cut", 0, true, "{\"out\":{},\"dead\":{\"most\":1500,\"codec\":\"producer\"}}"));
    SinkInterceptor interceptor = interceptor("cut", Map.of());
    Header[] own = {
      new RecordHeader("mine", noise(1000)), new RecordHeader("s.topic", new byte[] {'b'}), new RecordHeader("s.reason", noise(50))
    };
    ProducerRecord<byte[], byte[]> value = interceptor.onSend(record("dead", noise(10), given(noise(5000), true), own));
    assertEquals("10:5000", text(value, "s.cut"));
    assertEquals("of b", text(value, "s.id"));
    assertEquals("mine", value.headers().toArray()[0].key());
    assertTrue(Sizes.of(value) <= 1500);
    assertEquals(5, at(value, 0).window());
    ProducerRecord<byte[], byte[]> headers = interceptor.onSend(record("dead", noise(900), given(noise(5000), true), own));
    assertNull(headers.headers().lastHeader("mine"));
    assertArrayEquals(noise(900), headers.key());
    ProducerRecord<byte[], byte[]> key = interceptor.onSend(record("dead", noise(9000), given(null, true), own));
    assertEquals("9000:-1", text(key, "s.cut"));
    assertNull(key.value());
    assertTrue(key.key().length > 900 && Sizes.of(key) <= 1500);
  }

  @Test
  void theProducersOwnLimitCountsWithoutCompression() throws IOException {
    Limits.set("request", limits("request", 0, true, "{\"out\":{},\"dead\":{}}"));
    SinkInterceptor interceptor =
        interceptor("request", Map.of("max.request.size", "2000", "compression.type", "zstd", "compression.zstd.level", 3));
    ProducerRecord<byte[], byte[]> letter = interceptor.onSend(record("out", null, given(new byte[3000], true)));
    assertEquals("dead", letter.topic());
    assertTrue(text(letter, "s.reason").contains("the producer sends 2000 (max.request.size"));
    assertTrue(Sizes.of(letter) <= 2000);
  }

  @Test
  void theBrokersCountWhatIsCompressed() throws IOException {
    String topics = "{\"out\":{\"most\":2000,\"codec\":\"CODEC\"},\"dead\":{}}";
    for (String codec : new String[] {"producer", "gzip", "snappy", "lz4", "zstd"}) {
      Limits.set(codec, limits(codec, 0, true, topics.replace("CODEC", codec)));
      SinkInterceptor packing = interceptor(codec, Map.of("compression.type", "gzip"));
      assertEquals("out", packing.onSend(record("out", null, given(new byte[3000], true))).topic(), codec);
      assertEquals("dead", packing.onSend(record("out", null, given(noise(3000), true))).topic(), codec);
      SinkInterceptor plain = interceptor(codec, Map.of());
      assertEquals("dead", plain.onSend(record("out", null, given(new byte[3000], true))).topic(), codec);
    }
    Limits.set("unpacks", limits("unpacks", 0, true, topics.replace("CODEC", "uncompressed")));
    SinkInterceptor packing = interceptor("unpacks", Map.of("compression.type", "lz4"));
    assertEquals("dead", packing.onSend(record("out", null, given(new byte[3000], true))).topic());
  }

  @Test
  void whatTheBrokersRefuseIsLearned() throws IOException {
    Limits.set("learns", limits("learns", 0, true, "{\"out\":{},\"dead\":{}}"));
    SinkInterceptor interceptor = interceptor("learns", Map.of());
    assertEquals("out", interceptor.onSend(record("out", null, given(noise(5000), true))).topic());
    RecordMetadata none = new RecordMetadata(new TopicPartition("out", 0), -1, -1, -1, -1, -1);
    interceptor.onAcknowledgement(none, new RecordTooLargeException("too large"));
    assertEquals("out", interceptor.onSend(record("out", null, given(noise(4000), true))).topic());
    ProducerRecord<byte[], byte[]> letter = interceptor.onSend(record("out", null, given(noise(5000), true)));
    assertTrue(text(letter, "s.reason").contains("the brokers refuse 5"));
    Limits.set("learns", limits("learns", 0, true, "{\"out\":{},\"dead\":{}}")); // the next life knows it still
    assertEquals("dead", interceptor.onSend(record("out", null, given(noise(5000), true))).topic());
    Limits.forget("learns");
    Limits.set("learns", limits("learns", 0, true, "{\"out\":{},\"dead\":{}}"));
    assertEquals("out", interceptor.onSend(record("out", null, given(noise(5000), true))).topic());
  }

  @Test
  void executorsHaveTheirLimitsFromTheProducer() {
    SinkInterceptor interceptor =
        interceptor("there", Map.of("ksqlpy.limits", limits("there", 0, true, "{\"out\":{\"most\":500},\"dead\":{}}")));
    assertEquals("dead", interceptor.onSend(record("out", null, given(noise(900), true))).topic());
  }
}
