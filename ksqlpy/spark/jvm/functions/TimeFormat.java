package ksqlpy.functions;

import java.time.DateTimeException;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalTime;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A time as text by a pattern of Java's DateTimeFormatter: {@code (TIMESTAMP, STRUCT<STRING pattern [, STRING zone]>) →
 * STRING}, or {@code (DATE, STRUCT<STRING>)}, or {@code (INT, STRUCT<STRING>)} for a TIME in milliseconds. Without a
 * zone it is the server's.
 */
public final class TimeFormat implements ScalarFunction<UTF8String> {
  private static final long serialVersionUID = 1L;

  private final String kind;
  private final StructType texts;
  private transient volatile TimePattern known;

  TimeFormat(String kind, StructType texts) {
    int count = texts.length();
    boolean fits = kind.equals("timestamp") ? count == 1 || count == 2 : count == 1;
    if (!fits || !(kind.equals("timestamp") || kind.equals("date") || kind.equals("time"))) {
      throw new UnsupportedOperationException("there is no format_" + kind + " by " + count + " texts");
    }
    this.kind = kind;
    this.texts = texts;
  }

  public UTF8String invoke(long micros, InternalRow given) {
    UTF8String pattern = Exact.text(given, 0);
    if (texts.length() == 1) {
      return timestamp(micros, pattern, null);
    }
    UTF8String zone = Exact.text(given, 1);
    return zone == null ? null : timestamp(micros, pattern, zone);
  }

  public UTF8String invoke(int value, InternalRow given) {
    TimePattern by = pattern(Exact.text(given, 0), null);
    if (by == null) {
      return null;
    }
    try {
      String text =
          kind.equals("date")
              ? by.formatter.format(LocalDate.ofEpochDay(value))
              : by.formatter.format(LocalTime.ofNanoOfDay(value * 1000000L));
      return UTF8String.fromString(text);
    } catch (DateTimeException e) {
      return null;
    }
  }

  private UTF8String timestamp(long micros, UTF8String pattern, UTF8String zone) {
    TimePattern by = pattern(pattern, zone);
    if (by == null) {
      return null;
    }
    try {
      Instant at = Instant.ofEpochMilli(Math.floorDiv(micros, 1000L));
      return UTF8String.fromString(by.formatter.format(at.atZone(by.zone)));
    } catch (DateTimeException e) {
      return null;
    }
  }

  private TimePattern pattern(UTF8String pattern, UTF8String zone) {
    if (pattern == null) {
      return null;
    }
    TimePattern by = TimePattern.of(pattern, zone, known);
    known = by;
    return by.formatter == null ? null : by;
  }

  public DataType[] inputTypes() {
    DataType value =
        kind.equals("timestamp")
            ? DataTypes.TimestampType
            : kind.equals("date") ? DataTypes.DateType : DataTypes.IntegerType;
    return new DataType[] {value, texts};
  }

  public DataType resultType() {
    return DataTypes.StringType;
  }

  public String name() {
    return "format_" + kind;
  }

  public String canonicalName() {
    return "ksqlpy.exact." + name();
  }
}
