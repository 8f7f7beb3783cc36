package ksqlpy.internals;

import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataType;

/** Makes rows of values, as states keep them. For one thread. */
public final class Rows {
  private final UnsafeProjection projection;

  /** {@code types}: of the values. */
  public Rows(DataType... types) {
    projection = UnsafeProjection.create(types);
  }

  /** The row of these values, valid until the next call. */
  public UnsafeRow of(Object... values) {
    return projection.apply(new GenericInternalRow(values));
  }
}
