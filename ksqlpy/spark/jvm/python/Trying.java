package ksqlpy.python;

import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;

/** Begins what {@link Tried} ends, as its first argument: {@code () → BOOLEAN}, true. */
public final class Trying implements ScalarFunction<Boolean> {
  private static final long serialVersionUID = 1L;

  public boolean invoke() {
    Letters.begin();
    return true;
  }

  public DataType[] inputTypes() {
    return new DataType[0];
  }

  public DataType resultType() {
    return DataTypes.BooleanType;
  }

  public boolean isResultNullable() {
    return false;
  }

  public boolean isDeterministic() {
    return false;
  }

  public String name() {
    return "trying";
  }

  public String canonicalName() {
    return "ksqlpy.trying";
  }
}
