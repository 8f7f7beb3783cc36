package ksqlpy.functions;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/** All digits of a DECIMAL, never an exponent: {@code (STRUCT<DECIMAL>) → STRING}. */
public final class DecimalText implements ScalarFunction<UTF8String> {
  private static final long serialVersionUID = 1L;

  private final StructType input;
  private final DecimalType type;

  DecimalText(StructType arguments) {
    if (arguments.length() != 1) {
      throw new UnsupportedOperationException("it takes one argument, a DECIMAL");
    }
    input = arguments;
    type = (DecimalType) arguments.fields()[0].dataType();
  }

  public UTF8String invoke(InternalRow given) {
    return given.isNullAt(0)
        ? null
        : UTF8String.fromString(
            given.getDecimal(0, type.precision(), type.scale()).toJavaBigDecimal().toPlainString());
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
