package ksqlpy.internals;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import ksqlpy.speedups.QuickParser;
import org.junit.jupiter.api.Test;

/** One that fails while it is used is off from then on; no other test of this JVM uses the reader of expressions. */
final class SpeedupTest {
  @Test
  void withoutTheReaderSparkParses() {
    assertTrue(Speedup.EXPRESSION_READER.on());
    String read = new QuickParser().parseExpression("a + 1").toJSON();
    Speedup.EXPRESSION_READER.failed(new NoSuchMethodError("Add.<init>"));
    assertFalse(Speedup.EXPRESSION_READER.on());
    assertEquals(List.of("expression-reader"), Speedup.off());
    Speedup.EXPRESSION_READER.failed(new NoSuchMethodError("Not.<init>"));
    assertEquals(List.of("expression-reader"), Speedup.off());
    assertEquals(read, new QuickParser().parseExpression("a + 1").toJSON());
    assertTrue(read.contains("Add"), read);
  }
}
