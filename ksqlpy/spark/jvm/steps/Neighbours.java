package ksqlpy.steps;

import java.util.ArrayList;
import java.util.List;
import ksqlpy.internals.StepState;
import ksqlpy.internals.StepState.Timed;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

/**
 * Rows of a key beside those before and after them, in the order in which they arrive.
 *
 * <p>What comes out has for each offset the row that lies so far away, {@code __near0}, {@code __near1}, …, or null where
 * none has arrived before. A row comes out when the last row that it looks at has arrived, at once if it looks back only.
 */
public final class Neighbours extends Keyed {
  private static final long serialVersionUID = 1L;

  private final int[] offsets;
  private final int ahead;
  private final int behind;

  private transient StepState.ByKey counts;
  private transient StepState.ByTime rows;

  /** {@code offsets}: how many rows later those that are looked at arrived, negative for earlier. */
  public Neighbours(int number, int[] lanes, int[] offsets, String[] carried) {
    super(number, lanes, carried);
    this.offsets = offsets.clone();
    int most = 0;
    int least = 0;
    for (int offset : offsets) {
      most = Math.max(most, offset);
      least = Math.min(least, offset);
    }
    ahead = most;
    behind = -least;
  }

  @Override
  public Step copy() {
    return new Neighbours(number(), lanes(), offsets, carried());
  }

  @Override
  public StructType output(StructType input) {
    DataType row = input.apply(Col.RESULT).dataType();
    StructType own = new StructType();
    for (int i = 0; i < offsets.length; i++) {
      own = own.add(Col.NEAR + i, row);
    }
    return output(input, own);
  }

  @Override
  protected void open(StepState state, StructType input) {
    super.open(state, input);
    counts = state.byKey("counts");
    rows = state.byKeyThenTime("rows", false); // by their numbers
  }

  @Override
  protected void step(InternalRow in) {
    byte[] key = key(in);
    long at = time(in);
    UnsafeRow known = counts.get(key, 1);
    long number = known == null ? 0 : known.getLong(0);
    long first = Math.max(0, number - ahead - behind);
    List<UnsafeRow> window = new ArrayList<>();
    if (number > 0) {
      for (Timed found : rows.of(key, first, number - 1, fields)) {
        window.add(found.row());
      }
    }
    window.add(kept(in).copy());
    rows.put(key, number, window.get(window.size() - 1));
    counts.put(key, longs(number + 1));
    if (number >= ahead) {
      Object[] values = new Object[width];
      values[0] = window.get((int) (number - ahead - first));
      for (int i = 0; i < offsets.length; i++) {
        long place = number - ahead + offsets[i] - first;
        values[1 + i] = place < 0 ? null : window.get((int) place);
      }
      values[1 + offsets.length] = at;
      give(in, values);
    }
    if (number >= ahead + behind) {
      rows.remove(key, first); // the next row looks no further back
    }
  }
}
