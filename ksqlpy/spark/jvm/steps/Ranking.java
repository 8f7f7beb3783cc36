package ksqlpy.steps;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import ksqlpy.internals.Orderings;
import ksqlpy.internals.StepState;
import ksqlpy.internals.StepState.Timed;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * The first rows of each key, sorted by the first columns of {@code __result}; of equal ones that which arrived first is
 * ahead.
 *
 * <p>What comes out has {@code __rank}, from 1: the row that enters, and all behind it, whose ranks it changes.
 */
public final class Ranking extends Keyed {
  private static final long serialVersionUID = 1L;

  private final int limit;
  private final boolean[] descending;
  private final boolean[] nullsFirst;

  private transient DataType[] types;
  private transient List<Comparator<Object>> orders;
  private transient StepState.ByTime ranked;

  /** {@code limit}: how many rows of a key are ranked; {@code descending}, {@code nullsFirst}: of each column that sorts. */
  public Ranking(int number, int[] lanes, int limit, boolean[] descending, boolean[] nullsFirst, String[] carried) {
    super(number, lanes, carried);
    this.limit = limit;
    this.descending = descending.clone();
    this.nullsFirst = nullsFirst.clone();
  }

  @Override
  public Step copy() {
    return new Ranking(number(), lanes(), limit, descending, nullsFirst, carried());
  }

  @Override
  public StructType output(StructType input) {
    return output(input, new StructType().add(Col.RANK, DataTypes.LongType));
  }

  @Override
  protected void open(StepState state, StructType input) {
    super.open(state, input);
    StructType row = (StructType) input.apply(Col.RESULT).dataType();
    types = new DataType[descending.length];
    orders = new ArrayList<>();
    for (int i = 0; i < types.length; i++) {
      types[i] = row.fields()[i].dataType();
      orders.add(Orderings.of(types[i]));
    }
    ranked = state.byKeyThenTime("ranked", false); // by their ranks
  }

  @Override
  protected void step(InternalRow in) {
    byte[] key = key(in);
    long at = time(in);
    UnsafeRow row = kept(in);
    List<Timed> last = ranked.of(key, limit, limit, fields);
    if (!last.isEmpty() && compare(row, last.get(0).row()) >= 0) {
      return;
    }
    List<Timed> before = ranked.of(key, 1, limit, fields);
    int place = before.size();
    while (place > 0 && compare(row, before.get(place - 1).row()) < 0) {
      place--;
    }
    UnsafeRow next = row.copy();
    for (int rank = place; rank < limit && next != null; rank++) {
      ranked.put(key, rank + 1, next);
      Object[] values = new Object[width];
      values[0] = next;
      values[1] = rank + 1L;
      values[2] = at;
      give(in, values);
      next = rank < before.size() ? before.get(rank).row() : null;
    }
  }

  private int compare(UnsafeRow one, UnsafeRow other) {
    for (int i = 0; i < types.length; i++) {
      boolean none = one.isNullAt(i);
      if (none || other.isNullAt(i)) {
        if (none != other.isNullAt(i)) {
          return none == nullsFirst[i] ? -1 : 1;
        }
        continue;
      }
      int order = orders.get(i).compare(one.get(i, types[i]), other.get(i, types[i]));
      if (order != 0) {
        return descending[i] ? -order : order;
      }
    }
    return 0;
  }
}
