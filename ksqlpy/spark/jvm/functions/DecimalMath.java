package ksqlpy.functions;

import java.math.BigDecimal;
import java.math.MathContext;
import java.math.RoundingMode;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.StructType;

/**
 * Arithmetic of DECIMALs, of which division alone is rounded, half up, to the places of its type: {@code (STRUCT<DECIMAL left, DECIMAL right, result>) → DECIMAL} for {@code add},
 * {@code sub}, {@code mul}, {@code div} and {@code mod}; the last field says by its type what comes out. What that type does
 * not hold to the last digit is else an error. {@code double} is CAST, {@code (STRUCT<DOUBLE, result>)}: of the number that
 * the bits are, cut to the digits of the type and then rounded to its places.
 */
public final class DecimalMath implements ScalarFunction<Decimal> {
  private static final long serialVersionUID = 1L;

  private final String operation;
  private final StructType input;
  private final DecimalType result;

  DecimalMath(String operation, StructType arguments) {
    this.operation = operation;
    input = arguments;
    int count = operation.equals("double") ? 2 : 3;
    if (arguments.length() != count) {
      throw new UnsupportedOperationException("decimal_" + operation + " takes " + count + " arguments");
    }
    result = (DecimalType) arguments.fields()[count - 1].dataType();
  }

  public Decimal invoke(InternalRow given) {
    if (given.isNullAt(0)) {
      return null;
    }
    if (operation.equals("double")) {
      double value = given.getDouble(0);
      return Double.isNaN(value) || Double.isInfinite(value)
          ? null
          : fitted(new BigDecimal(value, new MathContext(result.precision())), RoundingMode.HALF_UP);
    }
    if (given.isNullAt(1)) {
      return null;
    }
    BigDecimal left = number(given, 0);
    BigDecimal right = number(given, 1);
    switch (operation) {
      case "add":
        return fitted(left.add(right), RoundingMode.DOWN);
      case "sub":
        return fitted(left.subtract(right), RoundingMode.DOWN);
      case "mul":
        return fitted(left.multiply(right), RoundingMode.DOWN);
      case "mod":
        return right.signum() == 0 ? null : fitted(left.remainder(right), RoundingMode.DOWN);
      case "div":
        if (right.signum() == 0) {
          return null;
        }
        return fitted(left.divide(right, result.scale(), RoundingMode.HALF_UP), RoundingMode.DOWN);
      default:
        throw new UnsupportedOperationException("decimal_" + operation);
    }
  }

  private BigDecimal number(InternalRow given, int index) {
    DecimalType type = (DecimalType) input.fields()[index].dataType();
    return given.getDecimal(index, type.precision(), type.scale()).toJavaBigDecimal();
  }

  /** The number in the type of the result, or null; DOWN stands for no rounding at all. */
  private Decimal fitted(BigDecimal number, RoundingMode rounding) {
    BigDecimal placed = number.setScale(result.scale(), rounding);
    boolean exact = rounding != RoundingMode.DOWN || placed.compareTo(number) == 0;
    return exact && placed.precision() <= result.precision()
        ? Decimal.apply(placed, result.precision(), result.scale())
        : null;
  }

  public DataType[] inputTypes() {
    return new DataType[] {input};
  }

  public DataType resultType() {
    return result;
  }

  public String name() {
    return "decimal_" + operation;
  }

  public String canonicalName() {
    return "ksqlpy.exact." + name() + "." + input.catalogString();
  }
}
