package ksqlpy.functions;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.cfg.JsonNodeFeature;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import ksqlpy.aggregates.Items;
import ksqlpy.sink.Records;
import org.apache.spark.sql.catalyst.InternalRow;

/** JSON in texts. Numbers keep the digits that they have; what stands behind the first value is not looked at. */
public final class JsonTexts {
  private JsonTexts() {}

  // Names are data of strangers: they must not end in the JVM's table of interned strings.
  private static final JsonFactory FACTORY =
      JsonFactory.builder().disable(JsonFactory.Feature.INTERN_FIELD_NAMES).build();
  private static final ObjectMapper MAPPER =
      new ObjectMapper(FACTORY)
          .enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS)
          .enable(JsonGenerator.Feature.WRITE_BIGDECIMAL_AS_PLAIN)
          .configure(JsonNodeFeature.STRIP_TRAILING_BIGDECIMAL_ZEROES, false);

  /** The value; that of an empty text is a missing one. */
  private static JsonNode parse(InternalRow a, int index) throws IOException {
    return MAPPER.readTree(a.getUTF8String(index).getBytes());
  }

  /** A text without quotes, any other value as JSON. */
  private static String bare(JsonNode value) {
    return value.isTextual() ? value.textValue() : value.toString();
  }

  /** EXTRACTJSONFIELD: {@code (text, path)}. */
  static final class Field extends Scalar {
    private String path;
    private List<String> steps;

    Field() {
      super("string", "string, string");
    }

    Object of(InternalRow a) throws IOException {
      String wanted = text(a, 1);
      if (!wanted.equals(path)) {
        steps = steps(wanted);
        path = wanted;
      }
      JsonNode found = parse(a, 0);
      for (int i = 0; i < steps.size() && found != null; i++) {
        String step = steps.get(i);
        found = (found.isArray() ? found.get(Integer.parseInt(step)) : found.get(step));
      }
      return found == null || found.isMissingNode() ? null : bare(found);
    }

    /** The names and numbers of a path: {@code $.name.name[number]["name"]}. */
    private static List<String> steps(String path) {
      ArrayList<String> steps = new ArrayList<>();
      int at = path.startsWith("$") ? 1 : -1;
      while (at >= 0 && at < path.length()) {
        int begin = at + 1;
        if (path.startsWith("[\"", at)) {
          StringBuilder name = new StringBuilder();
          for (at += 2; path.charAt(at) != '"'; at++) {
            if (path.charAt(at) == '\\') {
              at++;
              if (path.charAt(at) != '"' && path.charAt(at) != '\\') {
                throw new IllegalArgumentException("not an escape: " + path);
              }
            }
            name.append(path.charAt(at));
          }
          steps.add(name.toString());
          at = path.startsWith("\"]", at) ? at + 2 : -1;
        } else if (path.charAt(at) == '[') {
          at = end(path, begin, "");
          steps.add(path.substring(begin, at));
          at = at > begin && path.startsWith("]", at) ? at + 1 : -1;
        } else {
          at = path.charAt(at) == '.' ? end(path, begin, ":@") : -1;
          steps.add(at > begin ? path.substring(begin, at) : "");
          at = at > begin ? at : -1;
        }
      }
      if (at < 0) {
        throw new IllegalArgumentException("not a path: " + path);
      }
      return steps;
    }

    private static int end(String path, int at, String more) {
      while (at < path.length()) {
        char c = path.charAt(at);
        if (!Character.isLetterOrDigit(c) && c != '_' && more.indexOf(c) < 0) {
          break;
        }
        at++;
      }
      return at;
    }
  }

  /** IS_JSON_STRING, never null. */
  static final class Valid extends Scalar {
    Valid() {
      super("boolean", "string");
    }

    boolean takesNull(int index) {
      return true;
    }

    Object of(InternalRow a) {
      try {
        return Boolean.valueOf(!a.isNullAt(0) && !parse(a, 0).isMissingNode());
      } catch (IOException e) {
        return Boolean.FALSE;
      }
    }
  }

  /**
   * JSON_ARRAY_CONTAINS: {@code (text, value)}; a null value is looked for as JSON's null. Whether a number has a
   * fraction is part of its type.
   */
  private abstract static class Contains extends Scalar {
    Contains(String type) {
      super("boolean", "string, " + type);
    }

    boolean takesNull(int index) {
      return index == 1;
    }

    Object of(InternalRow a) {
      try {
        JsonParser parser = FACTORY.createParser(a.getUTF8String(0).getBytes());
        try {
          return Boolean.valueOf(parser.nextToken() == JsonToken.START_ARRAY && contains(parser, a));
        } finally {
          parser.close();
        }
      } catch (IOException e) {
        return Boolean.FALSE;
      }
    }

    private boolean contains(JsonParser parser, InternalRow a) throws IOException {
      for (JsonToken token = parser.nextToken(); token != JsonToken.END_ARRAY; token = parser.nextToken()) {
        if (token == null) {
          return false;
        }
        if (a.isNullAt(1) ? token == JsonToken.VALUE_NULL : is(parser, token, a)) {
          return true;
        }
        parser.skipChildren();
      }
      return false;
    }

    abstract boolean is(JsonParser parser, JsonToken token, InternalRow a) throws IOException;
  }

  static final class ContainsText extends Contains {
    ContainsText() {
      super("string");
    }

    boolean is(JsonParser parser, JsonToken token, InternalRow a) throws IOException {
      return token == JsonToken.VALUE_STRING && parser.getText().equals(text(a, 1));
    }
  }

  static final class ContainsWhole extends Contains {
    ContainsWhole() {
      super("bigint");
    }

    boolean is(JsonParser parser, JsonToken token, InternalRow a) throws IOException {
      return token == JsonToken.VALUE_NUMBER_INT
          && parser.getNumberType() != JsonParser.NumberType.BIG_INTEGER
          && parser.getLongValue() == a.getLong(1);
    }
  }

  static final class ContainsDouble extends Contains {
    ContainsDouble() {
      super("double");
    }

    boolean is(JsonParser parser, JsonToken token, InternalRow a) throws IOException {
      return token == JsonToken.VALUE_NUMBER_FLOAT && parser.getDoubleValue() == a.getDouble(1);
    }
  }

  static final class ContainsBoolean extends Contains {
    ContainsBoolean() {
      super("boolean");
    }

    boolean is(JsonParser parser, JsonToken token, InternalRow a) {
      return token == (a.getBoolean(1) ? JsonToken.VALUE_TRUE : JsonToken.VALUE_FALSE);
    }
  }

  /** JSON_ARRAY_LENGTH. */
  static final class ArrayLength extends Scalar {
    ArrayLength() {
      super("int", "string");
    }

    Object of(InternalRow a) throws IOException {
      JsonNode value = parse(a, 0);
      return value.isArray() ? Integer.valueOf(value.size()) : null;
    }
  }

  /** JSON_CONCAT: of objects their union, of anything else one array. */
  static final class Concat extends Scalar {
    Concat() {
      super("string", "string…");
    }

    Object of(InternalRow a) throws IOException {
      ObjectNode union = MAPPER.createObjectNode();
      ArrayNode list = MAPPER.createArrayNode();
      boolean objects = true;
      for (int i = 0; i < a.numFields(); i++) {
        JsonNode value = parse(a, i);
        if (value.isMissingNode()) {
          return null;
        }
        if (value.isArray()) {
          list.addAll((ArrayNode) value);
        } else {
          list.add(value);
        }
        objects &= value.isObject();
        if (objects) {
          union.setAll((ObjectNode) value);
        }
      }
      JsonNode all = objects ? (JsonNode) union : (JsonNode) list;
      return MAPPER.writeValueAsString(a.numFields() == 1 ? parse(a, 0) : all);
    }
  }

  /** JSON_ITEMS. */
  static final class Items extends Scalar {
    Items() {
      super("array<string>", "string");
    }

    Object of(InternalRow a) throws IOException {
      JsonNode value = parse(a, 0);
      if (!value.isArray()) {
        return null;
      }
      ArrayList<String> items = new ArrayList<>();
      for (int i = 0; i < value.size(); i++) {
        items.add(value.get(i).toString());
      }
      return items;
    }
  }

  /** JSON_KEYS. */
  static final class Keys extends Scalar {
    Keys() {
      super("array<string>", "string");
    }

    Object of(InternalRow a) throws IOException {
      JsonNode value = parse(a, 0);
      if (!value.isObject()) {
        return null;
      }
      ArrayList<String> keys = new ArrayList<>();
      for (Iterator<String> names = value.fieldNames(); names.hasNext(); ) {
        keys.add(names.next());
      }
      return keys;
    }
  }

  /** JSON_RECORDS. */
  static final class Records extends Scalar {
    Records() {
      super("map<string,string>", "string");
    }

    Object of(InternalRow a) throws IOException {
      JsonNode value = parse(a, 0);
      if (!value.isObject()) {
        return null;
      }
      Map<String, String> records = new LinkedHashMap<>();
      for (Iterator<String> names = value.fieldNames(); names.hasNext(); ) {
        String name = names.next();
        records.put(name, bare(value.get(name)));
      }
      return records;
    }
  }
}
