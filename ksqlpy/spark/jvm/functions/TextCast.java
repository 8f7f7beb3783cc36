package ksqlpy.functions;

import java.math.BigDecimal;
import java.math.RoundingMode;
import java.time.DateTimeException;
import java.time.LocalDate;
import java.time.LocalTime;
import java.time.ZoneOffset;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * CAST of text to a number or a time: {@code (STRUCT<STRING>) → type}; the second field for {@code cast_decimal}, a DECIMAL,
 * says by its type what comes out. Blanks around the text do not matter. Numbers are read as Java reads them, times are
 * ISO 8601: a date may leave out day and month, a time seconds and minutes, a zone is that of UTC. Of a timestamp, a day
 * behind the last of its month is the last, and 24:00 is the next day, as in ksqlDB. {@code analysis/constants.py} knows the
 * same texts.
 */
public final class TextCast implements ScalarFunction<Object> {
  private static final long serialVersionUID = 1L;

  private static final Pattern DATE = Pattern.compile("([+-]?\\d{4,9})(?:-(\\d{1,2})(?:-(\\d{1,2}))?)?");
  private static final Pattern TIME =
      Pattern.compile("(\\d{1,2})(?::(\\d{1,2})(?::(\\d{1,2})(?:\\.(\\d{1,9}))?)?)?");
  /** The end of a day, in a timestamp only: the first moment of the next one. */
  private static final Pattern END = Pattern.compile("24(?::00?(?::00?(?:\\.0{1,9})?)?)?");

  private static final Pattern ZONE = Pattern.compile("(.*?)(Z|[+-]\\d{2}(?::?\\d{2})?)");

  private static final int LONGEST_NUMBER = 10000; // reading takes the square of it

  private final String to;
  private final StructType input;
  private final DataType result;

  TextCast(String to, StructType arguments) {
    this.to = to;
    boolean decimal = to.equals("decimal");
    if (arguments.length() != (decimal ? 2 : 1)) {
      throw new UnsupportedOperationException("cast_" + to + " does not take " + arguments.length() + " arguments");
    }
    if (decimal) {
      result = arguments.fields()[1].dataType();
    } else if (to.equals("integer") || to.equals("time")) {
      result = DataTypes.IntegerType;
    } else if (to.equals("bigint")) {
      result = DataTypes.LongType;
    } else if (to.equals("double")) {
      result = DataTypes.DoubleType;
    } else if (to.equals("date")) {
      result = DataTypes.DateType;
    } else if (to.equals("timestamp")) {
      result = DataTypes.TimestampType;
    } else {
      throw new UnsupportedOperationException("text is not cast to " + to);
    }
    this.input = arguments;
  }

  public Object invoke(InternalRow given) {
    if (given.isNullAt(0)) {
      return null;
    }
    UTF8String value = given.getUTF8String(0);
    if (to.equals("decimal")) {
      return decimal(value);
    }
    String text = value.toString().trim();
    try {
      if (result == DataTypes.LongType) {
        return Long.valueOf(text);
      }
      if (result == DataTypes.DoubleType) {
        return Double.valueOf(text);
      }
      if (result == DataTypes.DateType) {
        return Integer.valueOf(Math.toIntExact(date(text, false).toEpochDay()));
      }
      if (result == DataTypes.TimestampType) {
        return Long.valueOf(micros(text));
      }
      return to.equals("time")
          ? Integer.valueOf((int) (time(text).toNanoOfDay() / 1000000))
          : (Object) Integer.valueOf(text);
    } catch (NumberFormatException e) {
      return null;
    } catch (DateTimeException e) {
      return null;
    } catch (ArithmeticException e) {
      return null;
    }
  }

  private Object decimal(UTF8String value) {
    DecimalType type = (DecimalType) result;
    try {
      String text = value.toString().trim();
      if (text.length() > LONGEST_NUMBER) {
        return null;
      }
      BigDecimal number = new BigDecimal(text);
      if (number.precision() - (long) number.scale() > type.precision() - type.scale() && number.signum() != 0) {
        return null;
      }
      if (number.precision() - (long) number.scale() < -type.scale()) {
        number = BigDecimal.ZERO; // its exponent can be huge: to cut its digits would first write them out
      }
      number = number.setScale(type.scale(), RoundingMode.HALF_UP);
      return number.precision() > type.precision() ? null : Decimal.apply(number, type.precision(), type.scale());
    } catch (NumberFormatException e) {
      return null;
    } catch (ArithmeticException e) {
      return null;
    }
  }

  private static Matcher matched(Pattern pattern, String text) {
    Matcher found = pattern.matcher(text);
    if (!found.matches()) {
      throw new DateTimeException(text);
    }
    return found;
  }

  private static int number(Matcher found, int group, int otherwise) {
    return found.group(group) == null ? otherwise : Integer.parseInt(found.group(group));
  }

  private static LocalDate date(String text, boolean clamped) {
    Matcher found = matched(DATE, text);
    int day = number(found, 3, 1);
    LocalDate month = LocalDate.of(Integer.parseInt(found.group(1)), number(found, 2, 1), 1);
    return month.withDayOfMonth(clamped && day <= 31 ? Math.min(day, month.lengthOfMonth()) : day);
  }

  private static LocalTime time(String text) {
    Matcher found = matched(TIME, text);
    String fraction = found.group(4) == null ? "0" : (found.group(4) + "00000000").substring(0, 9);
    return LocalTime.of(
        Integer.parseInt(found.group(1)), number(found, 2, 0), number(found, 3, 0), Integer.parseInt(fraction));
  }

  private static long micros(String text) {
    int split = Math.max(text.indexOf('T'), text.indexOf(' '));
    String day = split < 0 ? text : text.substring(0, split);
    String rest = split < 0 ? "" : text.substring(split + 1);
    ZoneOffset zone = ZoneOffset.UTC;
    Matcher zoned = ZONE.matcher(rest);
    if (zoned.matches()) {
      rest = zoned.group(1);
      zone = ZoneOffset.of(zoned.group(2));
    }
    boolean end = END.matcher(rest).matches();
    LocalTime time = end || rest.isEmpty() && split < 0 ? LocalTime.MIDNIGHT : time(rest);
    long days = date(day, true).toEpochDay() + (end ? 1 : 0);
    long seconds = Math.subtractExact(days * 86400 + time.toSecondOfDay(), zone.getTotalSeconds());
    return Math.addExact(Math.multiplyExact(seconds, 1000000L), time.getNano() / 1000000 * 1000L);
  }

  public DataType[] inputTypes() {
    return new DataType[] {input};
  }

  public DataType resultType() {
    return result;
  }

  public String name() {
    return "cast_" + to;
  }

  public String canonicalName() {
    return "ksqlpy.exact." + name() + "." + result.simpleString();
  }
}
