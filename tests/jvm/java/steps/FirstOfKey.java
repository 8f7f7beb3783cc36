package ksqlpy.steps;

import ksqlpy.internals.StepState;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;

/** One more step, as someone would add it: gives the first row of each key, and drops the others. */
final class FirstOfKey extends Keyed {
  private static final long serialVersionUID = 1L;

  private transient StepState.ByKey known;

  FirstOfKey(int number, int[] lanes, String[] carried) {
    super(number, lanes, carried);
  }

  @Override
  public Step copy() {
    return new FirstOfKey(number(), lanes(), carried());
  }

  @Override
  public StructType output(StructType input) {
    return output(input, new StructType());
  }

  @Override
  protected void open(StepState state, StructType input) {
    super.open(state, input);
    known = state.byKey("known");
  }

  @Override
  protected void step(InternalRow in) {
    byte[] key = key(in);
    if (known.get(key, 1) == null) {
      known.put(key, longs(time(in)));
      Object[] values = new Object[width];
      values[0] = kept(in);
      give(in, values);
    }
  }
}
