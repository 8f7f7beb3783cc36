package ksqlpy.functions;

import java.math.BigDecimal;
import java.math.RoundingMode;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;

/**
 * ROUND and TRUNC of a DOUBLE to so many places of its shortest decimal text: {@code (DOUBLE, INT) → DOUBLE}. A half
 * goes up. NaN and the infinities have no digits, an error.
 */
public final class Places implements ScalarFunction<Double> {
  private static final long serialVersionUID = 1L;

  private final boolean round;

  Places(boolean round) {
    this.round = round;
  }

  public Double invoke(double x, int places) {
    if (Double.isNaN(x) || Double.isInfinite(x)) {
      return null;
    }
    if (places > 400) {
      return Double.valueOf(x); // a double has no digit there
    }
    if (places < -400) {
      return Double.valueOf(0);
    }
    RoundingMode mode =
        round ? (x < 0 ? RoundingMode.HALF_DOWN : RoundingMode.HALF_UP) : RoundingMode.DOWN;
    return Double.valueOf(BigDecimal.valueOf(x).setScale(places, mode).doubleValue());
  }

  public DataType[] inputTypes() {
    return new DataType[] {DataTypes.DoubleType, DataTypes.IntegerType};
  }

  public DataType resultType() {
    return DataTypes.DoubleType;
  }

  public String name() {
    return round ? "round" : "trunc";
  }

  public String canonicalName() {
    return "ksqlpy.exact." + name();
  }
}
