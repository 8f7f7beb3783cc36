package ksqlpy.read;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.DynamicTest.dynamicTest;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

final class DelimitedReaderTest {
  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final Map<String, String> NAMED = Map.of("SPACE", " ", "TAB", "\t");

  private static DelimitedReader reader(String delimiter, JsonNode types) throws IOException {
    ArrayNode fields = MAPPER.createArrayNode();
    for (JsonNode type : types) {
      String name = "C" + fields.size();
      fields.addArray().add(name).add(type);
    }
    ObjectNode spec = MAPPER.createObjectNode().put("read", "DELIMITED").put("bare", false).put("delimiter", delimiter);
    spec.putObject("type").put("kind", "STRUCT").set("fields", fields);
    return new DelimitedReader(spec.toString());
  }

  /** The cases of delimited_reading.txt. */
  @TestFactory
  List<DynamicTest> cases() throws IOException {
    List<DynamicTest> tests = new ArrayList<>();
    DelimitedReader reader = null;
    for (String line : Cases.lines("delimited_reading.txt")) {
      if (line.startsWith("== ")) {
        int space = line.indexOf(' ', 3);
        String delimiter = line.substring(3, space);
        reader = reader(NAMED.getOrDefault(delimiter, delimiter), MAPPER.readTree(line.substring(space + 1)));
      } else if (!line.isEmpty() && !line.startsWith("# ")) {
        int arrow = line.lastIndexOf(" => ");
        String text = arrow < 0 ? "" : line.substring(0, arrow);
        String given = text.replace("\\n", "\n").replace("\\r", "\r").replace("\\t", "\t");
        String expected = line.substring(arrow < 0 ? 3 : arrow + 4);
        DelimitedReader with = reader;
        tests.add(dynamicTest(line, () -> Cases.check(with, given, named(expected))));
      }
    }
    assertTrue(tests.size() > 50);
    return tests;
  }

  /** The values with the names of their columns. */
  private static String named(String expected) throws IOException {
    if (expected.startsWith("!")) {
      return expected;
    }
    List<String> values = new ArrayList<>();
    int column = 0;
    for (String value : parts(expected.substring(1, expected.length() - 1))) {
      values.add("\"C" + column++ + "\":" + value);
    }
    return "{" + String.join(",", values) + "}";
  }

  /** Of a JSON array, each as it was written. */
  private static List<String> parts(String text) {
    List<String> parts = new ArrayList<>();
    StringBuilder part = new StringBuilder();
    boolean quoted = false;
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      if (c == ',' && !quoted) {
        parts.add(part.toString());
        part.setLength(0);
        continue;
      }
      part.append(c);
      if (c == '\\') {
        part.append(text.charAt(++i));
      } else if (c == '"') {
        quoted = !quoted;
      }
    }
    parts.add(part.toString());
    return parts;
  }

  @Test
  void aDelimiterIsOneCharacter() throws IOException {
    JsonNode types = MAPPER.readTree("[\"STRING\"]");
    Exception e = assertThrows(IllegalArgumentException.class, () -> reader("||", types));
    assertEquals("\"delimiter\" must be one character, not \"||\"", e.getMessage());
  }
}
