package ksqlpy.read;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonStreamContext;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.util.TokenBuffer;
import java.io.IOException;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Reads ksqlDB's format JSON, by the rules of its KsqlJsonDeserializer and JsonSerdeUtils.
 *
 * <p>A field is found by its exact name, else by a name that is its name in upper case; the last one wins. Missing is
 * null, names that nobody asked for are skipped, so is text after the first value. Numbers may stand as text. A
 * fraction is cut off for whole numbers, and what is out of their range wraps around. Anything can be read as STRING.
 * One value that cannot be read makes the whole record unreadable.
 *
 * <p>Unlike ksqlDB's it makes no tree of a text, and bounds what a number such as 1e999999999 can cost.
 */
public final class JsonReader extends Reader {
  private static final long serialVersionUID = 1L;

  // Names are data of strangers: they must not end in the JVM's table of interned strings.
  private static final JsonFactory JSON =
      JsonFactory.builder().disable(JsonFactory.Feature.INTERN_FIELD_NAMES).build();
  private static final ObjectMapper MAPPER =
      new ObjectMapper(JSON).enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS);
  private static final int LONGEST_NUMBER = 1000; // Jackson's limit for numbers; ours for numbers in text
  private static final int LONGEST_MESSAGE = 200;
  private static final long DAY = 86400000L; // allowed, as in ksqlDB

  private final boolean registered;

  /** {@code spec}: with {@code "registered"} texts stand behind the ids of their schemas in the schema registry. */
  public JsonReader(String spec) throws IOException {
    super(spec);
    registered = MAPPER.readTree(spec).has("registered");
  }

  public String name() {
    return "read_json";
  }

  public InternalRow invoke(byte[] text) {
    return result(text);
  }

  protected Object read(byte[] text) {
    int ahead = 0;
    if (registered) {
      Registered.schema(Registered.id(text, "JSON"), "JSON");
      ahead = Registered.AHEAD;
    }
    try {
      JsonParser parser = JSON.createParser(text, ahead, text.length - ahead);
      try {
        JsonToken token = parser.nextToken();
        if (token == null) {
          throw new Unreadable("not JSON: the text is empty");
        }
        return value(parser, token, type());
      } finally {
        parser.close();
      }
    } catch (JsonProcessingException e) {
      throw new Unreadable("not JSON: " + oneLine(e.getOriginalMessage()));
    } catch (IOException e) {
      throw new Unreadable("not JSON: " + oneLine(String.valueOf(e.getMessage())));
    } catch (StackOverflowError e) {
      throw new Unreadable("not JSON: nested too deeply");
    }
  }

  /** Jackson's message without its notes on the source, which show the text or its own settings. */
  private static String oneLine(String message) {
    String plain = message.replaceAll("\\(start marker at \\[Source:[^\\]]*\\]\\)", "");
    plain = plain.replaceAll("(: enable|, from|,? to allow) `[^`]*`( to allow)?", "");
    return Unreadable.brief(plain.replaceAll("\\s+", " ").trim(), LONGEST_MESSAGE);
  }

  private static Object value(JsonParser parser, JsonToken token, Type type) throws IOException {
    if (token == JsonToken.VALUE_NULL) {
      return null;
    }
    switch (type.kind) {
      case Type.STRING:
        return string(parser, token, type);
      case Type.ARRAY:
        return array(parser, token, type);
      case Type.MAP:
        return map(parser, token, type);
      case Type.STRUCT:
        return struct(parser, token, type);
      case Type.BOOLEAN:
        if (token == JsonToken.VALUE_TRUE) {
          return Boolean.TRUE;
        }
        if (token == JsonToken.VALUE_FALSE) {
          return Boolean.FALSE;
        }
        throw unreadable(parser, type, null);
      case Type.BYTES:
        return bytes(parser, token, type);
      default:
        try {
          return number(parser, token, type);
        } catch (NumberFormatException e) {
          throw unreadable(parser, type, null);
        } catch (ArithmeticException e) {
          throw unreadable(parser, type, "out of range");
        }
    }
  }

  private static Object number(JsonParser parser, JsonToken token, Type type) throws IOException {
    switch (type.kind) {
      case Type.INTEGER:
        if (token == JsonToken.VALUE_STRING) {
          return Integer.valueOf(Integer.parseInt(parser.getText()));
        }
        return Integer.valueOf((int) whole(parser, token, type));
      case Type.BIGINT:
        return Long.valueOf(whole(parser, token, type));
      case Type.DOUBLE:
        if (token == JsonToken.VALUE_STRING) {
          return Double.valueOf(Double.parseDouble(parser.getText()));
        }
        if (!token.isNumeric()) {
          throw unreadable(parser, type, null);
        }
        return Double.valueOf(parser.getDoubleValue() + 0.0); // ksqlDB knows no -0.0 here: it goes through BigDecimal
      case Type.DATE:
        return Integer.valueOf(Math.toIntExact(whole(parser, token, type)));
      case Type.TIME:
        long time = whole(parser, token, type);
        if (time < 0 || time > DAY) {
          throw unreadable(parser, type, "not a number of milliseconds within a day");
        }
        return Integer.valueOf((int) time);
      case Type.TIMESTAMP:
        return Long.valueOf(Math.multiplyExact(whole(parser, token, type), 1000L));
      default:
        return decimal(parser, token, type);
    }
  }

  private static long whole(JsonParser parser, JsonToken token, Type type) throws IOException {
    if (token == JsonToken.VALUE_NUMBER_INT) {
      if (parser.getNumberType() == JsonParser.NumberType.BIG_INTEGER) {
        return parser.getBigIntegerValue().longValue();
      }
      return parser.getLongValue();
    }
    if (token == JsonToken.VALUE_STRING) {
      return Long.parseLong(parser.getText());
    }
    BigDecimal exact = exact(parser, token, type);
    long digits = (long) exact.precision() - exact.scale();
    if (exact.signum() == 0 || digits <= 0) {
      return 0;
    }
    if (digits > LONGEST_NUMBER) {
      throw unreadable(parser, type, "out of range");
    }
    return exact.longValue();
  }

  /** A number with all its digits; its exponent can be huge, so nothing may write them out unasked. */
  private static BigDecimal exact(JsonParser parser, JsonToken token, Type type) throws IOException {
    if (token == JsonToken.VALUE_STRING) {
      String text = parser.getText();
      if (text.length() > LONGEST_NUMBER) {
        throw unreadable(parser, type, "too long for a number");
      }
      try {
        return new BigDecimal(text);
      } catch (NumberFormatException e) {
        throw unreadable(parser, type, null);
      }
    }
    if (!token.isNumeric()) {
      throw unreadable(parser, type, null);
    }
    try {
      return parser.getDecimalValue();
    } catch (NumberFormatException e) {
      throw unreadable(parser, type, "out of range"); // of BigDecimal's exponents
    }
  }

  private static Decimal decimal(JsonParser parser, JsonToken token, Type type) throws IOException {
    BigDecimal number = exact(parser, token, type);
    if (number.signum() == 0) {
      number = BigDecimal.ZERO;
    } else {
      number = number.stripTrailingZeros();
      if ((long) number.precision() - number.scale() > type.precision - type.scale) {
        throw unreadable(parser, type, "too many digits");
      }
      if (number.scale() > type.scale) {
        throw unreadable(parser, type, "too many digits after the point");
      }
    }
    return Decimal.apply(number.setScale(type.scale), type.precision, type.scale);
  }

  private static UTF8String string(JsonParser parser, JsonToken token, Type type) throws IOException {
    if (token == JsonToken.VALUE_NUMBER_FLOAT) {
      return UTF8String.fromString(exact(parser, token, type).toString());
    }
    if (token.isScalarValue()) {
      String text = parser.getText();
      return UTF8String.fromString(token == JsonToken.VALUE_NUMBER_INT && text.equals("-0") ? "0" : text);
    }
    try {
      return UTF8String.fromString(MAPPER.writeValueAsString(MAPPER.readValue(parser, Object.class)));
    } catch (NumberFormatException e) {
      throw unreadable(parser, type, "out of range");
    }
  }

  private static byte[] bytes(JsonParser parser, JsonToken token, Type type) throws IOException {
    if (token != JsonToken.VALUE_STRING) {
      throw unreadable(parser, type, null);
    }
    parser.getText(); // a text that is decoded while it is read would be lost for the message
    try {
      return parser.getBinaryValue();
    } catch (JsonProcessingException e) {
      throw unreadable(parser, type, "not base64");
    }
  }

  private static GenericArrayData array(JsonParser parser, JsonToken token, Type type) throws IOException {
    if (token != JsonToken.START_ARRAY) {
      throw unreadable(parser, type, null);
    }
    ArrayList<Object> items = new ArrayList<>();
    for (JsonToken next = parser.nextToken(); next != JsonToken.END_ARRAY; next = parser.nextToken()) {
      items.add(value(parser, next, type.item));
    }
    return new GenericArrayData(items.toArray());
  }

  private static ArrayBasedMapData map(JsonParser parser, JsonToken token, Type type) throws IOException {
    if (token != JsonToken.START_OBJECT) {
      throw unreadable(parser, type, null);
    }
    LinkedHashMap<UTF8String, Object> entries = new LinkedHashMap<>();
    while (parser.nextToken() != JsonToken.END_OBJECT) {
      UTF8String key = UTF8String.fromString(parser.currentName());
      entries.put(key, value(parser, parser.nextToken(), type.item));
    }
    return new ArrayBasedMapData(
        new GenericArrayData(entries.keySet().toArray()), new GenericArrayData(entries.values().toArray()));
  }

  private static GenericInternalRow struct(JsonParser parser, JsonToken token, Type type) throws IOException {
    if (token != JsonToken.START_OBJECT) {
      throw unreadable(parser, type, null);
    }
    Fields fields = new Fields(type);
    while (parser.nextToken() != JsonToken.END_OBJECT) {
      Type.Place place = type.place(parser.currentName());
      JsonToken next = parser.nextToken();
      boolean toVariant = place.variant >= 0 && !fields.isExact(place.variant);
      if (place.exact >= 0 && toVariant) {
        // Columns named v and V, and no V in the text so far: both read it.
        TokenBuffer twice = new TokenBuffer(parser);
        twice.overrideParentContext(around(parser, next));
        twice.copyCurrentStructure(parser);
        JsonParser again = twice.asParser(parser);
        fields.take(again, again.nextToken(), place.exact, true);
        again = twice.asParser(parser);
        fields.take(again, again.nextToken(), place.variant, false);
      } else if (place.exact >= 0) {
        fields.take(parser, next, place.exact, true);
      } else if (toVariant) {
        fields.take(parser, next, place.variant, false);
      } else {
        parser.skipChildren();
      }
    }
    return fields.row();
  }

  /** The fields of one struct while it is read. What a later value replaces may be unreadable. */
  private static final class Fields {
    private final Type type;
    private final Object[] values;
    private boolean[] exact; // these two are made when there is something to say
    private Unreadable[] problems;

    Fields(Type type) {
      this.type = type;
      this.values = new Object[type.fields.length];
    }

    boolean isExact(int field) {
      return exact != null && exact[field];
    }

    void take(JsonParser parser, JsonToken token, int field, boolean isExact) throws IOException {
      if (isExact) {
        if (exact == null) {
          exact = new boolean[values.length];
        }
        exact[field] = true;
      }
      JsonStreamContext here = around(parser, token);
      try {
        values[field] = value(parser, token, type.fields[field]);
        if (problems != null) {
          problems[field] = null;
        }
      } catch (Unreadable e) {
        if (problems == null) {
          problems = new Unreadable[values.length];
        }
        problems[field] = e;
        while (parser.getParsingContext() != here && parser.nextToken() != null) {
          // on to the end of the value
        }
      }
    }

    GenericInternalRow row() {
      if (problems != null) {
        for (int i = 0; i < problems.length; i++) {
          if (problems[i] != null) {
            throw problems[i];
          }
        }
      }
      return new GenericInternalRow(values);
    }
  }

  /** What the value that begins with the current token stands in. */
  private static JsonStreamContext around(JsonParser parser, JsonToken token) {
    JsonStreamContext context = parser.getParsingContext();
    return token.isStructStart() ? context.getParent() : context;
  }

  /** Names the place of the current token by the names in the text: {@code ORDER.items[2].price}. */
  private static Unreadable unreadable(JsonParser parser, Type type, String why) throws IOException {
    JsonToken token = parser.currentToken();
    String what;
    if (token.isStructStart()) {
      what = token == JsonToken.START_OBJECT ? "an object" : "an array";
    } else {
      what = Unreadable.brief(parser.getText());
      what = token == JsonToken.VALUE_STRING ? '"' + what + '"' : what;
    }
    StringBuilder path = new StringBuilder();
    for (JsonStreamContext at = around(parser, token); at != null && !at.inRoot(); at = at.getParent()) {
      if (at.inArray()) {
        path.insert(0, "[" + at.getCurrentIndex() + "]");
      } else {
        path.insert(0, "." + Unreadable.brief(String.valueOf(at.getCurrentName())));
      }
    }
    if (path.length() > 0 && path.charAt(0) == '.') {
      path.deleteCharAt(0);
    }
    String place = path.length() == 0 ? "" : path + ": ";
    return new Unreadable(place + "cannot read " + what + " as " + type + (why == null ? "" : ", " + why));
  }
}
