package ksqlpy;

import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/** All digits of a DECIMAL, never an exponent: {@code (DECIMAL) → STRING}. */
public final class DecimalText implements ScalarFunction<UTF8String> {
  private final DataType input;

  DecimalText(StructType arguments) {
    if (arguments.length() != 1) {
      throw new UnsupportedOperationException("it takes one argument, a DECIMAL");
    }
    input = arguments.fields()[0].dataType();
  }

  public UTF8String invoke(Decimal value) {
    return value == null ? null : UTF8String.fromString(value.toJavaBigDecimal().toPlainString());
  }

  public DataType[] inputTypes() {
    return new DataType[] {input};
  }

  public DataType resultType() {
    return DataTypes.StringType;
  }

  public String name() {
    return "decimal_text";
  }

  public String canonicalName() {
    return "ksqlpy.exact.decimal_text";
  }
}
