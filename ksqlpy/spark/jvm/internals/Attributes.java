package ksqlpy.internals;

import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.types.DataTypeUtils;
import org.apache.spark.sql.types.StructField;

/** Columns of plans. */
final class Attributes {
  private Attributes() {}

  /** A new column, which is another one than all of the same name. */
  static AttributeReference of(StructField field) {
    return DataTypeUtils.toAttribute(field);
  }
}
