package ksqlpy.read;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Reads ksqlDB's format DELIMITED, by the rules of its KsqlDelimitedDeserializer and of Apache commons-csv's default
 * format, on which that one stands.
 *
 * <p>The columns stand in one line, in their order; there must be as many as the source has. Empty lines before it are
 * passed over, what follows it is not read. A field may stand in double quotes, doubled inside; a quote that does not
 * begin a field is text. An empty field is null, also in quotes. BOOLEAN is true for "true" in any case and else false,
 * BYTES are base64, DATE is a day number, TIME and TIMESTAMP are milliseconds.
 */
public final class DelimitedReader extends Reader {
  private static final long serialVersionUID = 1L;

  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final int LONGEST_NUMBER = 1000;
  private static final long DAY = 86400000L; // allowed, as in JSON

  private final char delimiter;

  public DelimitedReader(String spec) throws IOException {
    super(spec);
    String written = MAPPER.readTree(spec).path("delimiter").asText();
    if (written.length() != 1) {
      throw new IllegalArgumentException("\"delimiter\" must be one character, not \"" + written + "\"");
    }
    delimiter = written.charAt(0);
    if (bare()) {
      check(type());
    } else {
      for (int i = 0; i < type().fields.length; i++) {
        check(type().fields[i]);
      }
    }
  }

  private static void check(Type type) {
    if (type.kind > Type.DECIMAL) {
      throw new IllegalArgumentException("the DELIMITED format does not support type " + type);
    }
  }

  public String name() {
    return "read_delimited";
  }

  public InternalRow invoke(byte[] text) {
    return result(text);
  }

  protected Object read(byte[] text) {
    ArrayList<String> fields = fields(new String(text, StandardCharsets.UTF_8));
    int wanted = bare() ? 1 : type().fields.length;
    if (fields.isEmpty()) {
      throw new Unreadable("no delimited text: there is no field");
    }
    if (fields.size() != wanted) {
      String columns = wanted == 1 ? "is 1 column" : "are " + wanted + " columns";
      throw new Unreadable(
          "the record has " + fields.size() + (fields.size() == 1 ? " field" : " fields") + ", there " + columns);
    }
    if (bare()) {
      return value(fields.get(0), type(), 0);
    }
    Object[] values = new Object[wanted];
    for (int i = 0; i < wanted; i++) {
      values[i] = value(fields.get(i), type().fields[i], i);
    }
    return new GenericInternalRow(values);
  }

  /** The fields of the first line that is not empty. */
  private ArrayList<String> fields(String text) {
    ArrayList<String> fields = new ArrayList<>();
    int at = 0;
    while (at < text.length() && isEnd(text.charAt(at))) {
      at++;
    }
    if (at == text.length()) {
      return fields;
    }
    StringBuilder field = new StringBuilder();
    while (true) {
      field.setLength(0);
      if (at < text.length() && text.charAt(at) == '"') {
        at = quoted(text, at + 1, field);
      } else {
        while (at < text.length() && text.charAt(at) != delimiter && !isEnd(text.charAt(at))) {
          field.append(text.charAt(at++));
        }
      }
      fields.add(field.toString());
      if (at == text.length() || isEnd(text.charAt(at))) {
        return fields;
      }
      at++;
    }
  }

  /** Reads a field whose first quote has been read; returns the place of the delimiter or end behind it. */
  private int quoted(String text, int begin, StringBuilder field) {
    int at = begin;
    while (true) {
      if (at == text.length()) {
        throw new Unreadable("no delimited text: a quote has no end");
      }
      char c = text.charAt(at++);
      if (c != '"') {
        field.append(c);
      } else if (at < text.length() && text.charAt(at) == '"') {
        field.append('"');
        at++;
      } else {
        break;
      }
    }
    while (at < text.length() && text.charAt(at) != delimiter && !isEnd(text.charAt(at))) {
      if (!Character.isWhitespace(text.charAt(at))) {
        throw new Unreadable("no delimited text: " + text.charAt(at) + " stands behind a quoted field");
      }
      at++;
    }
    return at;
  }

  private static boolean isEnd(char c) {
    return c == '\n' || c == '\r';
  }

  private static Object value(String text, Type type, int column) {
    if (text.isEmpty()) {
      return null;
    }
    try {
      switch (type.kind) {
        case Type.BOOLEAN:
          return Boolean.valueOf(Boolean.parseBoolean(text));
        case Type.INTEGER:
          return Integer.valueOf(Integer.parseInt(text));
        case Type.BIGINT:
          return Long.valueOf(Long.parseLong(text));
        case Type.DOUBLE:
          return Double.valueOf(Double.parseDouble(text));
        case Type.STRING:
          return UTF8String.fromString(text);
        case Type.BYTES:
          return Base64.getDecoder().decode(text);
        case Type.DATE:
          return Integer.valueOf(Math.toIntExact(Long.parseLong(text)));
        case Type.TIME:
          long time = Long.parseLong(text);
          if (time < 0 || time > DAY) {
            throw unreadable(text, type, column, "not a number of milliseconds within a day");
          }
          return Integer.valueOf((int) time);
        case Type.TIMESTAMP:
          return Long.valueOf(Math.multiplyExact(Long.parseLong(text), 1000L));
        default:
          return decimal(text, type, column);
      }
    } catch (NumberFormatException e) {
      throw unreadable(text, type, column, null);
    } catch (ArithmeticException e) {
      throw unreadable(text, type, column, "out of range");
    } catch (IllegalArgumentException e) {
      throw unreadable(text, type, column, "not base64");
    }
  }

  private static Decimal decimal(String text, Type type, int column) {
    if (text.length() > LONGEST_NUMBER) {
      throw unreadable(text, type, column, "too long for a number");
    }
    BigDecimal number = new BigDecimal(text);
    if (number.signum() == 0) {
      number = BigDecimal.ZERO;
    } else {
      number = number.stripTrailingZeros();
      if ((long) number.precision() - number.scale() > type.precision - type.scale) {
        throw unreadable(text, type, column, "too many digits");
      }
      if (number.scale() > type.scale) {
        throw unreadable(text, type, column, "too many digits after the point");
      }
    }
    return Decimal.apply(number.setScale(type.scale), type.precision, type.scale);
  }

  private static Unreadable unreadable(String text, Type type, int column, String why) {
    String what = "field " + (column + 1) + ": cannot read \"" + Unreadable.brief(text) + "\" as " + type;
    return new Unreadable(why == null ? what : what + ", " + why);
  }
}
