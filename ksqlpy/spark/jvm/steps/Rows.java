package ksqlpy.steps;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataType;

/** Rows of values, as states keep them; a projection for each kind of row and thread. */
final class Rows {
  private static final ThreadLocal<Map<List<DataType>, UnsafeProjection>> MADE = ThreadLocal.withInitial(HashMap::new);

  private Rows() {}

  private static UnsafeRow made(List<DataType> types, Object... values) {
    UnsafeProjection projection =
        MADE.get().computeIfAbsent(types, kinds -> UnsafeProjection.create(kinds.toArray(new DataType[0])));
    return projection.apply(new GenericInternalRow(values));
  }

  static UnsafeRow of(DataType type, Object value) {
    return made(List.of(type), value);
  }

  static UnsafeRow of(DataType first, DataType second, Object one, Object other) {
    return made(List.of(first, second), one, other);
  }

  static UnsafeRow of(DataType first, DataType second, DataType third, Object one, Object other, Object last) {
    return made(List.of(first, second, third), one, other, last);
  }
}
