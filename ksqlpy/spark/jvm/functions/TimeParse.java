package ksqlpy.functions;

import java.text.ParsePosition;
import java.time.DateTimeException;
import java.time.LocalDate;
import java.time.LocalTime;
import java.time.ZoneId;
import java.time.ZonedDateTime;
import java.time.temporal.ChronoField;
import java.time.temporal.TemporalAccessor;
import java.time.temporal.TemporalQueries;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A time from text by a pattern of Java's DateTimeFormatter: {@code (STRUCT<STRING, STRING pattern [, STRING
 * zone]>)} → TIMESTAMP, DATE, INT for a TIME in milliseconds, or INT for the days of a whole date (kind {@code days}).
 *
 * <p>A timestamp and a date may say less than a whole: what they do not say is that of 1970-01-01T00:00. A zone in the
 * text wins; without one it is the server's. A date may say a time, midnight, and more text may follow it; a time
 * may say no date.
 */
public final class TimeParse implements ScalarFunction<Object> {
  private static final long serialVersionUID = 1L;

  private static final LocalDate FIRST_DAY = LocalDate.ofEpochDay(0);
  private static final long DAY = 86400000;
  private static final long MOST_MILLIS = Long.MAX_VALUE / 1000;

  private final String kind;
  private final StructType texts;
  private transient volatile TimePattern known;

  TimeParse(String kind, StructType texts) {
    int count = texts.length();
    boolean known = kind.equals("timestamp") || kind.equals("date") || kind.equals("time") || kind.equals("days");
    if (!known || count < 2 || count > (kind.equals("timestamp") ? 3 : 2)) {
      throw new UnsupportedOperationException("there is no parse_" + kind + " of " + count + " texts");
    }
    this.kind = kind;
    this.texts = texts;
  }

  public Object invoke(InternalRow given) {
    UTF8String text = Exact.text(given, 0);
    UTF8String pattern = Exact.text(given, 1);
    if (texts.length() == 2) {
      return parsed(text, pattern, kind.equals("date") ? UTF8String.fromString("GMT") : null);
    }
    UTF8String zone = Exact.text(given, 2);
    return zone == null ? null : parsed(text, pattern, zone);
  }

  private Object parsed(UTF8String text, UTF8String pattern, UTF8String zone) {
    if (text == null || pattern == null) {
      return null;
    }
    TimePattern by = TimePattern.of(pattern, zone, known);
    known = by;
    if (by.formatter == null) {
      return null;
    }
    try {
      // What comes behind a date does not matter, as in ksqlDB.
      TemporalAccessor parsed =
          kind.equals("date")
              ? by.formatter.parse(text.toString(), new ParsePosition(0))
              : by.formatter.parse(text.toString());
      if (kind.equals("time")) {
        return time(parsed);
      }
      if (kind.equals("days")) {
        return Integer.valueOf(Math.toIntExact(LocalDate.from(parsed).toEpochDay()));
      }
      long millis = completed(parsed, by.zone).toInstant().toEpochMilli();
      if (kind.equals("date")) {
        return millis % DAY == 0 ? Integer.valueOf(Math.toIntExact(millis / DAY)) : null;
      }
      return Math.abs(millis) > MOST_MILLIS ? null : Long.valueOf(millis * 1000);
    } catch (DateTimeException e) {
      return null;
    } catch (ArithmeticException e) {
      return null;
    }
  }

  private static Object time(TemporalAccessor parsed) {
    ChronoField[] fields = ChronoField.values();
    for (int i = 0; i < fields.length; i++) {
      if (fields[i].isDateBased() && parsed.isSupported(fields[i])) {
        return null;
      }
    }
    return Integer.valueOf((int) (LocalTime.from(parsed).toNanoOfDay() / 1000000));
  }

  private static ZonedDateTime completed(TemporalAccessor parsed, ZoneId otherwise) {
    ZoneId said = parsed.query(TemporalQueries.zone());
    LocalDate date = parsed.query(TemporalQueries.localDate());
    LocalTime time = parsed.query(TemporalQueries.localTime());
    ChronoField[] fields = ChronoField.values();
    if (date == null) {
      date = FIRST_DAY;
      if (parsed.isSupported(ChronoField.YEAR)) { // first, since it says how long its months are
        date = date.withYear(parsed.get(ChronoField.YEAR));
      } else if (parsed.isSupported(ChronoField.YEAR_OF_ERA)) {
        date = date.with(ChronoField.YEAR_OF_ERA, parsed.getLong(ChronoField.YEAR_OF_ERA));
      }
      if (parsed.isSupported(ChronoField.MONTH_OF_YEAR)) {
        date = date.withMonth(parsed.get(ChronoField.MONTH_OF_YEAR));
      }
      for (int i = 0; i < fields.length; i++) {
        boolean day = fields[i].isDateBased() && fields[i].compareTo(ChronoField.MONTH_OF_YEAR) < 0;
        if (day && parsed.isSupported(fields[i])) {
          date = date.with(fields[i], parsed.getLong(fields[i]));
        }
      }
    }
    if (time == null) {
      time = LocalTime.MIDNIGHT;
      for (int i = 0; i < fields.length; i++) {
        if (fields[i].isTimeBased() && parsed.isSupported(fields[i])) {
          time = time.with(fields[i], parsed.getLong(fields[i]));
        }
      }
    }
    return ZonedDateTime.of(date, time, said == null ? otherwise : said);
  }

  public DataType[] inputTypes() {
    return new DataType[] {texts};
  }

  public DataType resultType() {
    if (kind.equals("timestamp")) {
      return DataTypes.TimestampType;
    }
    return kind.equals("date") ? DataTypes.DateType : DataTypes.IntegerType;
  }

  public String name() {
    return "parse_" + kind;
  }

  public String canonicalName() {
    return "ksqlpy.exact." + name();
  }
}
