package ksqlpy.read;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import org.apache.kafka.common.serialization.DoubleSerializer;
import org.apache.kafka.common.serialization.IntegerSerializer;
import org.apache.kafka.common.serialization.LongSerializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.spark.sql.catalyst.InternalRow;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What Kafka's own serializers write. */
final class KafkaReaderTest {
  private static KafkaReader reader(String type) throws IOException {
    return new KafkaReader("{\"read\":\"KAFKA\",\"bare\":true,\"type\":\"" + type + "\"}");
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, -1, Integer.MAX_VALUE, Integer.MIN_VALUE})
  void integers(int number) throws IOException {
    assertEquals(number, reader("INTEGER").invoke(new IntegerSerializer().serialize("t", number)).getInt(0));
  }

  @ParameterizedTest
  @ValueSource(longs = {0, 1, -1, Long.MAX_VALUE, Long.MIN_VALUE})
  void bigints(long number) throws IOException {
    assertEquals(number, reader("BIGINT").invoke(new LongSerializer().serialize("t", number)).getLong(0));
  }

  @ParameterizedTest
  @ValueSource(doubles = {0, -0.0, 1.5, Double.MIN_VALUE, Double.NEGATIVE_INFINITY, Double.NaN})
  void doubles(double number) throws IOException {
    assertEquals(number, reader("DOUBLE").invoke(new DoubleSerializer().serialize("t", number)).getDouble(0));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "a", "ä€😀", "\0"})
  void texts(String text) throws IOException {
    byte[] bytes = new StringSerializer().serialize("t", text);
    assertEquals(text, reader("STRING").invoke(bytes).getUTF8String(0).toString());
  }

  @Test
  void badBytesOfATextAreReplaced() throws IOException {
    assertEquals("a\uFFFDb", reader("STRING").invoke(new byte[] {'a', -1, 'b'}).getUTF8String(0).toString());
  }

  @Test
  void bytesAreAsTheyAre() throws IOException {
    assertArrayEquals(new byte[] {0, -1}, reader("BYTES").invoke(new byte[] {0, -1}).getBinary(0));
  }

  @ParameterizedTest
  @CsvSource({"INTEGER, 3, 'an INTEGER has 4 bytes, not 3'", "BIGINT, 4, 'a BIGINT has 8 bytes, not 4'"})
  void aNumberHasItsLength(String type, int length, String error) throws IOException {
    InternalRow result = reader(type).invoke(new byte[length]);
    assertTrue(result.isNullAt(0));
    assertEquals(error, result.getUTF8String(1).toString());
  }

  @Test
  void aRowHasOneColumn() {
    String two = "{\"kind\":\"STRUCT\",\"fields\":[[\"A\",\"INTEGER\"],[\"B\",\"INTEGER\"]]}";
    String spec = "{\"read\":\"KAFKA\",\"bare\":false,\"type\":" + two + "}";
    Exception e = assertThrows(IllegalArgumentException.class, () -> new KafkaReader(spec));
    assertEquals("the KAFKA format has one column, not 2", e.getMessage());
  }

  @ParameterizedTest
  @ValueSource(strings = {"BOOLEAN", "DATE", "TIME", "TIMESTAMP"})
  void itHasNoOtherTypes(String type) {
    assertThrows(IllegalArgumentException.class, () -> reader(type));
  }
}
