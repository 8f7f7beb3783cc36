package ksqlpy.steps;

import java.util.ArrayList;
import java.util.Arrays;
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
 * <p>Source of the rules: Kafka Streams, EmitStrategy.onWindowClose: a window closes when its end and the grace period are
 * not after stream time; a session, whose end is a time that belongs to it, a millisecond later. Those that close together
 * come in the order of their ends.
 */
public final class Suppress extends Step {
  private static final long serialVersionUID = 1L;

  private static final long MASK = (1L << 60) - 1;
  private static final int NOWHERE = -1;
  private static final int CLOSED = -2;
  /** In {@code where}: that it is kept. With one partition it need not be. */
  private static final byte[] TRACKED = new byte[0];
  /** How much longer closed windows are known for partitions that are behind, in ms. */
  private static final long LONGER = 86_400_000;

  private final long grace;
  private final long advance;
  private final long idle;
  private final long kept;
  private final long segment;
  private final String query;

  private transient int end;
  private transient int gone;
  private transient int result;
  private transient int resultOut;
  private transient int fields;
  private transient int width;
  private transient StepState state;
  private transient StepState.ByKey where;
  private transient StepState.ByTime ended;
  private transient Map<Integer, StepState.ByTime> open;
  private transient Map<Integer, Long> next;
  private transient boolean tracked;
  private transient long firstEnded;

  /**
   * {@code advance}: between windows in ms; {@code grace}: in ms behind the end of a window, when it closes; {@code idle}:
   * after how many ms without a row the clock closes windows, 0 for never; {@code kept}: for how many ms behind the end of
   * a window Kafka Streams' store has it, so that its result is lost where stream time jumps further; -1 if none is lost;
   * {@code segment}: of sessions, how many ms of them that store drops together, else 0; {@code query}: under which late
   * rows are counted.
   */
  public Suppress(
      int number, int[] lanes, long advance, long grace, long idle, long kept, long segment, String query) {
    super(number, lanes);
    this.grace = grace;
    this.advance = advance;
    this.idle = idle;
    this.kept = kept;
    this.segment = segment;
    this.query = query;
  }

  @Override
  public Step copy() {
    return new Suppress(number(), lanes(), advance, grace, idle, kept, segment, query);
  }

  @Override
  public StructType output(StructType input) {
    StructType made = new StructType();
    for (String name : List.of(Col.RESULT, Col.PARTITION, Col.OFFSET, Col.RAW, Col.REASON)) {
      made = made.add(input.apply(name));
    }
    return made.add(Col.ROW, DataTypes.LongType).add(Col.PROGRESS, DataTypes.BinaryType);
  }

  @Override
  protected void open(StepState state, StructType input) {
    StructType output = output(input);
    this.state = state;
    end = input.fieldIndex(Col.END);
    gone = input.fieldIndex(Col.DELETED);
    result = input.fieldIndex(Col.RESULT);
    fields = ((StructType) input.apply(Col.RESULT).dataType()).length();
    resultOut = output.fieldIndex(Col.RESULT);
    width = output.length();
    where = state.byKey("where");
    ended = state.byTimeThenKey("ended");
    open = new HashMap<>();
    next = new HashMap<>(); // of a partition that is not in it: not known, looked for once
    tracked = where.get(TRACKED, 1) != null;
    firstEnded = Long.MIN_VALUE;
  }

  private StepState.ByTime open(int lane) {
    return open.computeIfAbsent(lane, number -> state.byTimeThenKey("open" + number));
  }

  @Override
  protected void step(InternalRow in) {
    byte[] key = key(in);
    long until = in.getLong(end);
    boolean late = until + grace <= streamTime;
    time(in);
    int place = NOWHERE;
    if (!tracked && hasSeveralLanes()) {
      track();
    }
    if (tracked) {
      UnsafeRow found = where.get(key, 1);
      place = found == null ? NOWHERE : (int) found.getLong(0);
    }
    if (place >= 0 && place != lane) {
      open(place).remove(key, until);
    }
    if (place == CLOSED || late && place == NOWHERE) {
      Counter.add(query + ":late");
    } else if (in.getBoolean(gone)) {
      open(lane).remove(key, until);
      if (tracked) {
        where.remove(key);
      }
    } else {
      UnsafeRow row = (UnsafeRow) in.getStruct(result, fields);
      open(lane).put(key, until, row);
      if (tracked && place != lane) {
        where.put(key, longs(lane));
      }
      next.computeIfPresent(lane, (number, first) -> Math.min(first, until));
    }
    close();
  }

  /** From now on there are several partitions: begins to note under which of them the row of a window lies. */
  private void track() {
    tracked = true;
    for (int other : lanesSeen()) {
      open(other)
          .each(
              Long.MIN_VALUE,
              fields,
              row -> {
                where.put(row.key(), longs(other));
                return true;
              });
    }
    where.put(TRACKED, longs(0));
  }

  /** At a checkpoint: what the clock closes. */
  @Override
  protected void finish() {
    if (idle > 0) {
      whileIdle(
          idle,
          lane -> {
            for (Timed window : closed()) {
              Object[] values = new Object[width];
              values[resultOut] = window.row();
              giveIdle(values, Long.MIN_VALUE / 2 + (Arrays.hashCode(window.key()) * 31L + window.time() & MASK));
            }
          });
    }
  }

  /** Gives the results of the windows of this partition number that have closed. */
  private void close() {
    if (next.getOrDefault(lane, -1L) + grace > streamTime) {
      return;
    }
    for (Timed window : closed()) {
      if (kept >= 0 && forgotten(window.time())) {
        continue;
      }
      Object[] values = new Object[width];
      values[resultOut] = window.row();
      give(values);
    }
  }

  /** Whether Kafka Streams' store has dropped a window, by its end: it has put the row's own window by then. */
  private boolean forgotten(long end) {
    return segment > 0
        ? Math.floorDiv(end, segment) < Math.floorDiv(streamTime - kept, segment)
        : end + kept < streamTime - Math.floorMod(streamTime, advance);
  }

  private List<Timed> closed() {
    StepState.ByTime windows = open(lane);
    List<Timed> closed = new ArrayList<>();
    long[] first = {Long.MAX_VALUE - grace};
    windows.each(
        next.getOrDefault(lane, Long.MIN_VALUE),
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
      if (tracked) { // a partition that is behind may still have rows of the window
        where.put(window.key(), longs(CLOSED));
        ended.put(window.key(), window.time(), longs());
        firstEnded = Math.min(firstEnded, window.time());
      }
    }
    if (tracked) {
      forget();
    }
    return closed;
  }

  /** Forgets closed windows of which no partition can have rows any more. */
  private void forget() {
    long passed = slowest(LONGER) - grace;
    if (firstEnded > passed) {
      return;
    }
    long from = firstEnded;
    firstEnded = Long.MAX_VALUE;
    ended.each(
        from,
        0,
        row -> {
          boolean over = row.time() <= passed;
          if (over) {
            ended.remove(row.key(), row.time());
            where.remove(row.key());
          } else {
            firstEnded = row.time();
          }
          return over;
        });
  }
}
