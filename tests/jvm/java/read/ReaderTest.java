package ksqlpy.read;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A reader is found by the name of its format. */
final class ReaderTest {
  private static final String SPEC = "{\"read\":\"KAFKA\",\"bare\":true,\"type\":\"INTEGER\"}";

  @Test
  void itsClassHasTheNameOfTheFormat() throws Exception {
    assertInstanceOf(KafkaReader.class, Reader.named("KAFKA", SPEC));
    assertInstanceOf(JsonReader.class, Reader.named("JSON", SPEC));
  }

  /** What has no class, and what is no name. */
  @ParameterizedTest
  @ValueSource(strings = {"XML", "", "Kafka", "X.Y", "JSON\n", "../KAFKA"})
  void whatIsNoReaderIsNotMade(String name) {
    assertThrows(ClassNotFoundException.class, () -> Reader.named(name, SPEC));
  }

  @Test
  void whatIsWrongInItsSpecificationIsTold() {
    Exception e = assertThrows(IllegalArgumentException.class, () -> Reader.named("KAFKA", "{}"));
    assertEquals("no \"type\" in {}", e.getMessage());
  }
}
