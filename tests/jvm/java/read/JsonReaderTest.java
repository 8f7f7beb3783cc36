package ksqlpy.read;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.DynamicTest.dynamicTest;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

final class JsonReaderTest {
  private static JsonReader reader(boolean bare, String type) throws IOException {
    return new JsonReader("{\"read\":\"JSON\",\"bare\":" + bare + ",\"type\":" + type + "}");
  }

  /** The cases of json_reading.txt. */
  @TestFactory
  List<DynamicTest> cases() throws IOException {
    List<DynamicTest> tests = new ArrayList<>();
    JsonReader reader = null;
    for (String line : Cases.lines("json_reading.txt")) {
      if (line.startsWith("== ")) {
        boolean row = line.startsWith("== row ");
        reader = reader(!row, line.substring(row ? 7 : 3));
      } else if (!line.isEmpty() && !line.startsWith("# ")) {
        int arrow = line.lastIndexOf(" => ");
        JsonReader with = reader;
        tests.add(dynamicTest(line, () -> Cases.check(with, line.substring(0, arrow), line.substring(arrow + 4))));
      }
    }
    assertTrue(tests.size() > 100);
    return tests;
  }

  @Test
  void noBytesAreNoRowAndNoError() throws IOException {
    InternalRow result = reader(true, "\"STRING\"").invoke(null);
    assertTrue(result.isNullAt(0) && result.isNullAt(1));
  }

  @Test
  void namesThatAreDataAreNotKept() throws IOException {
    JsonReader reader = reader(false, "{\"kind\":\"STRUCT\",\"fields\":[[\"V\",\"INTEGER\"]]}");
    for (int n = 0; n < 3000; n++) {
      InternalRow row = reader.invoke(("{\"n" + n + "\":1,\"v\":" + n + "}").getBytes()).getStruct(0, 1);
      assertEquals(n, row.getInt(0));
    }
  }

  @Test
  void onlyABareValueCanBeAScalar() {
    assertThrows(IllegalArgumentException.class, () -> reader(false, "\"INTEGER\""));
  }
}
