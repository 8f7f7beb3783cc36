package ksqlpy.steps;

import java.util.ArrayList;
import java.util.List;
import ksqlpy.internals.StepState;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * A step that keeps rows of a stream by their key: {@code __result}, a STRUCT. What comes out has a kept row there, and
 * columns that it takes from the row that brings it about.
 */
abstract class Keyed extends Step {
  private static final long serialVersionUID = 1L;

  private final String[] carried;

  private transient int result;
  private transient Carried fromRow;

  /** How many columns a kept row has. */
  protected transient int fields;

  /** How many columns come out. */
  protected transient int width;

  /** {@code carried}: columns that results have from the row that brings them about. */
  protected Keyed(int number, int[] lanes, String[] carried) {
    super(number, lanes);
    this.carried = carried.clone();
  }

  /** The names of the columns that results have from the row that brings them about. */
  protected final String[] carried() {
    return carried.clone();
  }

  /** What comes out: {@code __result}, columns of the step's own, and those of every step. */
  protected final StructType output(StructType input, StructType own) {
    StructType made = new StructType().add(input.apply(Col.RESULT));
    for (var field : own.fields()) {
      made = made.add(field);
    }
    List<String> names = new ArrayList<>(List.of(Col.ROWTIME, Col.PARTITION, Col.OFFSET, Col.RAW, Col.REASON));
    names.addAll(List.of(carried));
    for (String name : names) {
      made = made.add(input.apply(name));
    }
    return made.add(Col.ROW, DataTypes.LongType).add(Col.PROGRESS, DataTypes.BinaryType);
  }

  @Override
  protected void open(StepState state, StructType input) {
    StructType output = output(input);
    result = input.fieldIndex(Col.RESULT);
    fields = ((StructType) input.apply(Col.RESULT).dataType()).length();
    width = output.length();
    fromRow = new Carried(carried, input, output);
  }

  /** The row to be kept; valid until the next one is taken. */
  protected final UnsafeRow kept(InternalRow in) {
    return (UnsafeRow) in.getStruct(result, fields);
  }

  /** Gives a kept row, which stands first among the values. */
  protected final void give(InternalRow in, Object[] values) {
    fromRow.copy(in, values);
    give(values);
  }
}
