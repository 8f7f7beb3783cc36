package ksqlpy.steps;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

/** Columns that results have from the row that brings them about. */
final class Carried {
  private final int[] in;
  private final int[] out;
  private final DataType[] types;

  /** {@code names}: of the columns, in the rows that come in and in those that come out. */
  Carried(String[] names, StructType input, StructType output) {
    in = new int[names.length];
    out = new int[names.length];
    types = new DataType[names.length];
    for (int i = 0; i < names.length; i++) {
      in[i] = input.fieldIndex(names[i]);
      out[i] = output.fieldIndex(names[i]);
      types[i] = input.apply(names[i]).dataType();
    }
  }

  /** Copies them from the row that is taken to the values of a result. */
  void copy(InternalRow row, Object[] values) {
    for (int i = 0; i < in.length; i++) {
      if (!row.isNullAt(in[i])) {
        values[out[i]] = InternalRow.copyValue(row.get(in[i], types[i]));
      }
    }
  }
}
