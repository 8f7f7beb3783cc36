package ksqlpy.functions;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.functions.BoundFunction;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * The scalar functions for which Spark has nothing that gives the same results: {@code {"exact":name}}. An error gives
 * null. Spark looks for a method {@code invoke} in the class itself and passes values as they lie in its rows. A null
 * of a primitive type makes the result null before it comes here. For any other null that CASE makes Spark passes what
 * was there in the row before, so values that are objects stand in a struct, the last argument.
 */
public final class Exact {
  private Exact() {}

  /** The function of that name for these arguments; throws UnsupportedOperationException if there is none. */
  public static BoundFunction named(String name, StructType arguments) {
    int count = arguments.length();
    StructType objects = new StructType();
    if (count > 0 && arguments.fields()[count - 1].dataType() instanceof StructType) {
      objects = (StructType) arguments.fields()[count - 1].dataType();
      count--;
    }
    if (name.startsWith("format_")) {
      return new TimeFormat(name.substring(7), objects);
    }
    if (name.startsWith("parse_")) {
      return new TimeParse(name.substring(6), objects);
    }
    if (name.startsWith("cast_")) {
      return new TextCast(name.substring(5), objects);
    }
    if (name.equals("decimal_text")) {
      return new DecimalText(objects);
    }
    if (name.equals("decimal_abs") || name.equals("decimal_negate")) {
      return new DecimalSign(name.equals("decimal_abs"), objects);
    }
    if (name.equals("decimal_round") || name.equals("decimal_trunc")) {
      return new DecimalPlaces(name.equals("decimal_round"), objects);
    }
    if (name.startsWith("decimal_")) {
      return new DecimalMath(name.substring(8), objects);
    }
    if (name.equals("text_key") || name.equals("key_text")) {
      return new TextOrder(name, objects);
    }
    if (name.equals("convert_tz")) {
      return new ConvertZone(objects);
    }
    if (name.equals("geo_distance")) {
      return new GeoDistance(objects);
    }
    if (name.endsWith("bits")) {
      return new DoubleBits(name);
    }
    if (name.equals("round") || name.equals("trunc")) {
      return new Places(name.equals("round"));
    }
    return new MathCall(name, count);
  }

  /** The text at that place of the struct, or null. */
  static UTF8String text(InternalRow objects, int index) {
    return objects.isNullAt(index) ? null : objects.getUTF8String(index);
  }
}
