package ksqlpy;

import org.apache.spark.sql.connector.catalog.functions.BoundFunction;
import org.apache.spark.sql.types.StructType;

/**
 * The scalar functions for which Spark has nothing that gives the same results: {@code {"exact":name}}. An error gives
 * null. Spark looks for a method {@code invoke} in the class itself and passes values as they lie in its rows; a null
 * of a primitive type makes the result null before it comes here.
 */
final class Exact {
  private Exact() {}

  /** The function of that name for these arguments; throws UnsupportedOperationException if there is none. */
  static BoundFunction named(String name, StructType arguments) {
    int count = arguments.length();
    if (name.startsWith("format_")) {
      return new TimeFormat(name.substring(7), count);
    }
    if (name.startsWith("parse_")) {
      return new TimeParse(name.substring(6), count);
    }
    if (name.startsWith("cast_")) {
      return new TextCast(name.substring(5), arguments);
    }
    if (name.equals("decimal_text")) {
      return new DecimalText(arguments);
    }
    if (name.equals("convert_tz")) {
      return new ConvertZone();
    }
    if (name.equals("geo_distance")) {
      return new GeoDistance();
    }
    if (name.equals("round") || name.equals("trunc")) {
      return new Places(name.equals("round"));
    }
    return new MathCall(name, count);
  }
}
