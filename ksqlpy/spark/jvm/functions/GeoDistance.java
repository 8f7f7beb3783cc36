package ksqlpy.functions;

import java.util.Locale;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * The length of the great circle between two places on a sphere: {@code (DOUBLE lat1, DOUBLE lon1, DOUBLE lat2, DOUBLE
 * lon2, STRUCT<STRING unit>) → DOUBLE}, coordinates in degrees, by the haversine formula. Without a unit, or with a blank
 * one, it is in kilometres. Places that are not on the globe and unknown units are errors; NaN is a place and gives NaN.
 */
public final class GeoDistance implements ScalarFunction<Double> {
  private static final long serialVersionUID = 1L;

  private static final double KILOMETRES = 6371;
  private static final double MILES = 3959;

  private final StructType unit;

  GeoDistance(StructType unit) {
    this.unit = unit;
  }

  public Double invoke(double lat1, double lon1, double lat2, double lon2, InternalRow given) {
    UTF8String unit = Exact.text(given, 0);
    double radius = radius(unit == null ? "" : unit.toString().trim().toLowerCase(Locale.ROOT));
    if (radius == 0 || !isPlace(lat1, lon1) || !isPlace(lat2, lon2)) {
      return null;
    }
    double halfLat = Math.sin(Math.toRadians(lat2 - lat1) / 2);
    double halfLon = Math.sin(Math.toRadians(lon2 - lon1) / 2);
    double a =
        halfLat * halfLat
            + halfLon * halfLon * Math.cos(Math.toRadians(lat1)) * Math.cos(Math.toRadians(lat2));
    return Double.valueOf(2 * radius * Math.asin(Math.sqrt(a)));
  }

  private static boolean isPlace(double lat, double lon) {
    return !(lat < -90 || lat > 90 || lon < -180 || lon > 180);
  }

  private static double radius(String unit) {
    switch (unit) {
      case "":
      case "km":
      case "kilometer":
      case "kilometers":
      case "kilometre":
      case "kilometres":
        return KILOMETRES;
      case "mi":
      case "mile":
      case "miles":
        return MILES;
      default:
        return 0;
    }
  }

  public DataType[] inputTypes() {
    return new DataType[] {
      DataTypes.DoubleType, DataTypes.DoubleType, DataTypes.DoubleType, DataTypes.DoubleType, unit
    };
  }

  public DataType resultType() {
    return DataTypes.DoubleType;
  }

  public String name() {
    return "geo_distance";
  }

  public String canonicalName() {
    return "ksqlpy.exact.geo_distance";
  }
}
