package ksqlpy.read;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.json.JSONOptions;
import org.apache.spark.sql.catalyst.json.JacksonGenerator;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Map$;
import scala.jdk.javaapi.CollectionConverters;

/** The case files that the tests with Spark read, too, and what a reader makes of a text, as Spark's to_json writes it. */
final class Cases {
  private static final JSONOptions OPTIONS =
      new JSONOptions(
          Map$.MODULE$.from(CollectionConverters.asScala(Map.of("ignoreNullFields", "false"))), "UTC", "");

  private Cases() {}

  static List<String> lines(String file) {
    try {
      return List.of(Files.readString(Path.of(System.getProperty("cases"), file)).split("\n", -1));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** {@code expected}: the row as JSON, or {@code !} and words of the error. */
  static void check(Reader reader, String text, String expected) {
    InternalRow result = reader.result(text.getBytes(StandardCharsets.UTF_8));
    if (!expected.startsWith("!")) {
      assertTrue(result.isNullAt(1), () -> result.getUTF8String(1).toString());
      assertEquals(expected, row(reader, result));
      return;
    }
    assertTrue(result.isNullAt(0));
    String error = result.getUTF8String(1).toString();
    assertTrue(error.contains(expected.substring(1).strip()), error);
    assertTrue(!error.contains("\n"), error);
  }

  private static String row(Reader reader, InternalRow result) {
    StructField field = ((StructType) reader.resultType()).apply(0);
    StringWriter out = new StringWriter();
    JacksonGenerator json = new JacksonGenerator(new StructType(new StructField[] {field}), out, OPTIONS);
    json.write(new GenericInternalRow(new Object[] {result.get(0, field.dataType())}));
    json.close();
    return out.toString().substring("{\"row\":".length(), out.getBuffer().length() - 1);
  }
}
