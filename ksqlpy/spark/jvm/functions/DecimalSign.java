package ksqlpy.functions;

import java.math.BigDecimal;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.StructType;

/**
 * A DECIMAL with the other sign, or without its sign, {@code (STRUCT<DECIMAL>) → the same DECIMAL}. Spark's own round to
 * 34 digits, and end the query where the result has 39.
 */
public final class DecimalSign implements ScalarFunction<Decimal> {
  private static final long serialVersionUID = 1L;

  private final boolean absolute;
  private final StructType input;
  private final DecimalType type;

  DecimalSign(boolean absolute, StructType arguments) {
    if (arguments.length() != 1) {
      throw new UnsupportedOperationException("it takes one argument, a DECIMAL");
    }
    this.absolute = absolute;
    input = arguments;
    type = (DecimalType) arguments.fields()[0].dataType();
  }

  public Decimal invoke(InternalRow given) {
    if (given.isNullAt(0)) {
      return null;
    }
    BigDecimal number = given.getDecimal(0, type.precision(), type.scale()).toJavaBigDecimal();
    return Decimal.apply(absolute ? number.abs() : number.negate(), type.precision(), type.scale());
  }

  public DataType[] inputTypes() {
    return new DataType[] {input};
  }

  public DataType resultType() {
    return type;
  }

  public String name() {
    return absolute ? "decimal_abs" : "decimal_negate";
  }

  public String canonicalName() {
    return "ksqlpy.exact." + name() + "." + type.simpleString();
  }
}
