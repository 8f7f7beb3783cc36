package ksqlpy.python;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * The values of a row's expressions, and why the row is a dead letter: {@code (trying, STRUCT of the values) →
 * STRUCT<error STRING, row STRUCT>}; {@code error} is null where no function with ON_ERROR = 'dead-letter' failed.
 *
 * <p>It gives no {@code invoke}, by which Spark would make Java of it and of its arguments: parts that several expressions
 * share would then come ahead of {@link Trying}. So Spark evaluates the arguments in their order, each time, and since
 * it is not deterministic, once a row.
 */
public final class Tried implements ScalarFunction<InternalRow> {
  private static final long serialVersionUID = 1L;

  private final StructType values;

  public Tried(StructType values) {
    this.values = values;
  }

  public InternalRow produceResult(InternalRow given) {
    String reason = Letters.end();
    InternalRow row = given.getStruct(1, values.length());
    return new GenericInternalRow(new Object[] {UTF8String.fromString(reason), row});
  }

  public DataType[] inputTypes() {
    return new DataType[] {DataTypes.BooleanType, values};
  }

  public DataType resultType() {
    return new StructType().add("error", DataTypes.StringType).add("row", values);
  }

  public boolean isDeterministic() {
    return false;
  }

  public String name() {
    return "tried";
  }

  public String canonicalName() {
    return "ksqlpy.tried." + values.catalogString();
  }
}
