package ksqlpy.steps;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import ksqlpy.functions.Counter;
import ksqlpy.internals.StepState;
import ksqlpy.internals.StepState.Timed;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * The last result of each window, when the window has closed, with the record that closes it.
 *
 * <p>Rows come with {@code __end} (BIGINT), the end of their window, {@code __del}, whether the window is gone (a session
 * that was merged), and {@code __result} (STRUCT), which comes out.
 *
 * <p>Source of the rules: Kafka Streams, KTableSuppressProcessor with untilWindowCloses: a window closes when its end and
 * the grace period are not after stream time; those that close together come in the order of their ends.
 */
public final class Suppress extends Step {
  private static final long serialVersionUID = 1L;

  private final long size;
  private final long grace;
  private final String query;

  private transient int end;
  private transient int gone;
  private transient int result;
  private transient int resultOut;
  private transient int fields;
  private transient int width;
  private transient StepState state;
  private transient StepState.ByKey where;
  private transient Map<Integer, StepState.ByTime> open;
  private transient Map<Integer, Long> next;

  /** {@code size}: of windows in ms, 0 for sessions; {@code grace}: in ms behind the end of a window; {@code query}: under which late rows are counted. */
  public Suppress(int number, int[] lanes, long size, long grace, String query) {
    super(number, lanes);
    this.size = size;
    this.grace = grace;
    this.query = query;
  }

  @Override
  public Step copy() {
    return new Suppress(number(), lanes(), size, grace, query);
  }

  @Override
  public StructType output(StructType input) {
    StructType made = new StructType();
    for (String name : List.of("__result", "__partition", "__offset", "__raw", "__reason")) {
      made = made.add(input.apply(name));
    }
    return made.add("__row", DataTypes.LongType).add("__progress", DataTypes.BinaryType);
  }

  @Override
  protected void open(StepState state, StructType input) {
    StructType output = output(input);
    this.state = state;
    end = input.fieldIndex("__end");
    gone = input.fieldIndex("__del");
    result = input.fieldIndex("__result");
    fields = ((StructType) input.apply("__result").dataType()).length();
    resultOut = output.fieldIndex("__result");
    width = output.length();
    where = state.byKey("where");
    open = new HashMap<>();
    next = new HashMap<>();
  }

  private StepState.ByTime open(int lane) {
    return open.computeIfAbsent(lane, number -> state.byTimeThenKey("open" + number));
  }

  @Override
  protected void step(InternalRow in) {
    byte[] key = key(in);
    long until = in.getLong(end);
    long before = streamTime;
    boolean late = until + grace <= before;
    time(in);
    UnsafeRow place = where.get(key, 1);
    if (place != null && place.getLong(0) != lane) {
      open((int) place.getLong(0)).remove(key, until);
    }
    if (late && place == null) {
      Counter.add(query + ":late");
    } else if (in.getBoolean(gone)) {
      open(lane).remove(key, until);
      where.remove(key);
    } else {
      UnsafeRow row = (UnsafeRow) in.getStruct(result, fields);
      open(lane).put(key, until, row);
      where.put(key, longs(lane));
      next.merge(lane, until, Math::min);
    }
    close(before);
  }

  /**
   * Gives the results of the windows of this partition number that have closed. {@code before}: the stream time before
   * this row. A window that begins with the epoch comes only if no window could have closed before: Kafka Streams looks
   * for windows from the start of the last that it closed on, and for the epoch itself only at first
   * (AbstractKStreamTimeWindowAggregateProcessor).
   */
  private void close(long before) {
    if (next.getOrDefault(lane, -1L) + grace > streamTime) {
      return;
    }
    StepState.ByTime windows = open(lane);
    List<Timed> closed = new ArrayList<>();
    long[] first = {Long.MAX_VALUE - grace};
    windows.each(
        fields,
        row -> {
          boolean over = row.time() + grace <= streamTime;
          if (over) {
            closed.add(row);
          } else {
            first[0] = row.time();
          }
          return over;
        });
    next.put(lane, first[0]);
    for (Timed window : closed) {
      windows.remove(window.key(), window.time());
      where.remove(window.key());
      if (size > 0 && window.time() == size && before >= grace) {
        continue;
      }
      Object[] values = new Object[width];
      values[resultOut] = window.row();
      give(values);
    }
  }
}
