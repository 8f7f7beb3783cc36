package ksqlpy.functions;

import java.time.DateTimeException;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeFormatterBuilder;
import java.util.Locale;
import org.apache.spark.unsafe.types.UTF8String;

/** A pattern and a zone as texts, made into what Java needs. Most calls have the same ones as the call before. */
public final class TimePattern {
  /** Null where the pattern is none, or where the zone is none. */
  final DateTimeFormatter formatter;

  /** The server's zone where no zone is said. */
  final ZoneId zone;

  private final UTF8String patternText;
  private final UTF8String zoneText;

  private TimePattern(UTF8String patternText, UTF8String zoneText) {
    this.patternText = patternText.clone();
    this.zoneText = zoneText == null ? null : zoneText.clone();
    DateTimeFormatter made = null;
    ZoneId where = null;
    try {
      where = zoneText == null ? ZoneId.systemDefault() : ZoneId.of(zoneText.toString());
      // Text is read in any case, names are English ones.
      made =
          new DateTimeFormatterBuilder()
              .parseCaseInsensitive()
              .appendPattern(patternText.toString())
              .toFormatter(Locale.US);
    } catch (IllegalArgumentException e) {
      made = null;
    } catch (DateTimeException e) {
      made = null;
    }
    this.formatter = made;
    this.zone = where;
  }

  /** {@code known} if it is of these texts, else a new one. */
  static TimePattern of(UTF8String pattern, UTF8String zone, TimePattern known) {
    boolean same =
        known != null
            && known.patternText.equals(pattern)
            && (zone == null ? known.zoneText == null : zone.equals(known.zoneText));
    return same ? known : new TimePattern(pattern, zone);
  }
}
