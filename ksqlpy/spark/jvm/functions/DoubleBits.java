package ksqlpy.functions;

import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;

/**
 * What stands for a DOUBLE where rows are brought together by it: {@code bits(DOUBLE) → BIGINT}, and {@code
 * of_bits(BIGINT) → DOUBLE} back. Spark takes -0.0 for 0.0 in a key; their bits differ, as they do in Kafka's and Java's
 * keys, and all NaN have the same. {@code unsigned_bits} are those of 0.0 for -0.0, too.
 */
public final class DoubleBits implements ScalarFunction<Object> {
  private static final long serialVersionUID = 1L;

  private final String name;
  private final boolean back;
  private final boolean signed;

  DoubleBits(String name) {
    this.name = name;
    back = name.equals("of_bits");
    signed = name.equals("bits");
  }

  public long invoke(double value) {
    return Double.doubleToLongBits(signed ? value : value + 0.0);
  }

  public double invoke(long bits) {
    return Double.longBitsToDouble(bits);
  }

  public DataType[] inputTypes() {
    return new DataType[] {back ? DataTypes.LongType : DataTypes.DoubleType};
  }

  public DataType resultType() {
    return back ? DataTypes.DoubleType : DataTypes.LongType;
  }

  public String name() {
    return name;
  }

  public String canonicalName() {
    return "ksqlpy.exact." + name;
  }
}
