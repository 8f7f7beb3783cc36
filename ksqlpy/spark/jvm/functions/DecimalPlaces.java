package ksqlpy.functions;

import java.math.BigDecimal;
import java.math.RoundingMode;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.StructType;

/**
 * ROUND and TRUNC of a DECIMAL to a number of places that is no constant, {@code (STRUCT<DECIMAL, INT>) → the same
 * DECIMAL}: Spark takes constants only. A half goes up, that of a negative number too. Null where it has too many digits.
 */
public final class DecimalPlaces implements ScalarFunction<Decimal> {
  private static final long serialVersionUID = 1L;

  private final boolean round;
  private final StructType input;
  private final DecimalType type;

  DecimalPlaces(boolean round, StructType arguments) {
    if (arguments.length() != 2) {
      throw new UnsupportedOperationException("it takes a DECIMAL and an INT");
    }
    this.round = round;
    input = arguments;
    type = (DecimalType) arguments.fields()[0].dataType();
  }

  public Decimal invoke(InternalRow given) {
    if (given.isNullAt(0) || given.isNullAt(1)) {
      return null;
    }
    Decimal number = given.getDecimal(0, type.precision(), type.scale());
    int places = Math.max(given.getInt(1), type.scale() - type.precision() - 1); // below all digits
    if (places >= type.scale()) {
      return number;
    }
    BigDecimal exact = number.toJavaBigDecimal();
    RoundingMode mode =
        !round ? RoundingMode.DOWN : exact.signum() < 0 ? RoundingMode.HALF_DOWN : RoundingMode.HALF_UP;
    BigDecimal found = exact.setScale(places, mode).setScale(type.scale());
    return found.precision() > type.precision() ? null : Decimal.apply(found, type.precision(), type.scale());
  }

  public DataType[] inputTypes() {
    return new DataType[] {input};
  }

  public DataType resultType() {
    return type;
  }

  public String name() {
    return round ? "decimal_round" : "decimal_trunc";
  }

  public String canonicalName() {
    return "ksqlpy.exact." + name() + "." + type.simpleString();
  }
}
