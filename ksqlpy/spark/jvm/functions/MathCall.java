package ksqlpy.functions;

import java.util.List;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;

/** The functions of {@link Math}, to the last digit: {@code (DOUBLE [, DOUBLE]) → DOUBLE}. */
public final class MathCall implements ScalarFunction<Double> {
  private static final long serialVersionUID = 1L;

  private static final List<String> NAMES =
      List.of(
            "acos", "asin", "atan", "cos", "cosh", "cot", "sin", "sinh", "tan", "tanh", "cbrt", "degrees", "radians",
            "exp", "ln", "sqrt", "atan2", "power", "log");
  private static final int FIRST_OF_TWO = 16;

  private final String name;
  private final int which;

  MathCall(String name, int arguments) {
    this.name = name;
    this.which = NAMES.indexOf(name);
    if (which < 0 || arguments != (which < FIRST_OF_TWO ? 1 : 2)) {
      throw new UnsupportedOperationException("there is no " + name + " of " + arguments + " arguments");
    }
  }

  public double invoke(double x) {
    switch (which) {
      case 0:
        return Math.acos(x);
      case 1:
        return Math.asin(x);
      case 2:
        return Math.atan(x);
      case 3:
        return Math.cos(x);
      case 4:
        return Math.cosh(x);
      case 5:
        return 1.0 / Math.tan(x);
      case 6:
        return Math.sin(x);
      case 7:
        return Math.sinh(x);
      case 8:
        return Math.tan(x);
      case 9:
        return Math.tanh(x);
      case 10:
        return Math.cbrt(x);
      case 11:
        return Math.toDegrees(x);
      case 12:
        return Math.toRadians(x);
      case 13:
        return Math.exp(x);
      case 14:
        return Math.log(x);
      default:
        return Math.sqrt(x);
    }
  }

  public double invoke(double x, double y) {
    switch (which) {
      case 16:
        return Math.atan2(x, y);
      case 17:
        return Math.pow(x, y);
      default: // the base comes first
        return x <= 0 || x == 1 ? Double.NaN : Math.log(y) / Math.log(x);
    }
  }

  public DataType[] inputTypes() {
    return which < FIRST_OF_TWO
        ? new DataType[] {DataTypes.DoubleType}
        : new DataType[] {DataTypes.DoubleType, DataTypes.DoubleType};
  }

  public DataType resultType() {
    return DataTypes.DoubleType;
  }

  public String name() {
    return name;
  }

  public String canonicalName() {
    return "ksqlpy.exact." + name;
  }
}
