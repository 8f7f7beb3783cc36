package ksqlpy;

import java.time.DateTimeException;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalTime;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A time as text by a pattern of Java's DateTimeFormatter: {@code (TIMESTAMP, STRING pattern [, STRING zone]) → STRING},
 * or {@code (DATE, STRING)}, or {@code (INT, STRING)} for a TIME in milliseconds. Without a zone it is the server's.
 */
public final class TimeFormat implements ScalarFunction<UTF8String> {
  private final String kind;
  private final int arguments;
  private transient volatile TimePattern known;

  TimeFormat(String kind, int arguments) {
    boolean fits = kind.equals("timestamp") ? arguments == 2 || arguments == 3 : arguments == 2;
    if (!fits || !(kind.equals("timestamp") || kind.equals("date") || kind.equals("time"))) {
      throw new UnsupportedOperationException("there is no format_" + kind + " of " + arguments + " arguments");
    }
    this.kind = kind;
    this.arguments = arguments;
  }

  public UTF8String invoke(long micros, UTF8String pattern) {
    return timestamp(micros, pattern, null);
  }

  public UTF8String invoke(long micros, UTF8String pattern, UTF8String zone) {
    return zone == null ? null : timestamp(micros, pattern, zone);
  }

  public UTF8String invoke(int value, UTF8String pattern) {
    TimePattern by = pattern(pattern, null);
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
    return arguments == 3
        ? new DataType[] {value, DataTypes.StringType, DataTypes.StringType}
        : new DataType[] {value, DataTypes.StringType};
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
