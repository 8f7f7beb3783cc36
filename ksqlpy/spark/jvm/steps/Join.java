package ksqlpy.steps;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import ksqlpy.internals.Rows;
import ksqlpy.internals.StepState;
import ksqlpy.internals.StepState.Timed;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * Two streams joined: each row with the rows of the other side that have its key and a time within the bounds.
 *
 * <p>Rows come with {@code __side} (TINYINT, 0 for the left) and {@code __left} or {@code __right} (STRUCT); what comes
 * out has both, one of them null where a row has no partner, and {@code __ts}, the later of the two times.
 *
 * <p>Source of the rules: Kafka Streams, KStreamKStreamJoin. With a grace period a row without a partner comes out when
 * its window has closed, with the record that closes it; without one at once, even if a partner comes later. A row whose
 * key is null comes at once in both. Each side has a store of its own there, so that its rows are kept by the times of
 * that side.
 */
public final class Join extends Step {
  private static final long serialVersionUID = 1L;

  private static final String[] NAMES = {Col.LEFT, Col.RIGHT};
  private static final int SWEEPS = 16;
  /** So many rows of one key and time can be marked as those that came at once. */
  private static final int MARKS = 63;
  /** How much longer rows are kept for partitions that are behind, in ms. */
  private static final long LONGER = 86_400_000;
  /** In {@code sides}: the highest times of both sides of all partition numbers. */
  private static final byte[] ALL = new byte[0];

  private final long[] before;
  private final long[] after;
  private final long grace;
  private final boolean deferred;
  private final boolean[] padded;

  private transient int side;
  private transient int[] inputs;
  private transient int[] outputs;
  private transient int[] fields;
  private transient int timeOut;
  private transient int headers;
  private transient int headersOut;
  private transient int width;
  private transient StepState.ByTime[] rows;
  private transient StepState.ByTime[] times;
  private transient StepState.ByTime[] open;
  private transient Map<Integer, Long> nextOpen;
  private transient long[] firstOpen;
  private transient StepState.ByKey sides;
  private transient Map<Integer, long[]> sideTimes;
  private transient long[] swept;

  /**
   * {@code before}, {@code after}: how far a right row may be ahead of its left one or behind it, in ms; {@code grace}:
   * in ms, -1 for none; {@code left}, {@code right}: whether rows of the side come out without a partner, too.
   */
  public Join(int number, int[] lanes, long before, long after, long grace, boolean left, boolean right) {
    super(number, lanes);
    this.before = new long[] {before, after};
    this.after = new long[] {after, before};
    this.deferred = grace >= 0;
    // Source: ksqlDB, joins without GRACE PERIOD keep their rows for a day.
    this.grace = deferred ? grace : Math.max(0, 86_400_000L - before - after);
    this.padded = new boolean[] {left, right};
  }

  @Override
  public Step copy() {
    return new Join(number(), lanes(), before[0], after[0], deferred ? grace : -1, padded[0], padded[1]);
  }

  @Override
  public StructType output(StructType input) {
    StructType made = new StructType();
    for (String name : List.of(Col.LEFT, Col.RIGHT, Col.ROWTIME, Col.PARTITION, Col.OFFSET, Col.RAW, Col.REASON)) {
      made = made.add(input.apply(name));
    }
    if (List.of(input.fieldNames()).contains(Col.HEADERS)) {
      made = made.add(input.apply(Col.HEADERS));
    }
    return made.add(Col.ROW, DataTypes.LongType).add(Col.PROGRESS, DataTypes.BinaryType);
  }

  @Override
  protected void open(StepState state, StructType input) {
    StructType output = output(input);
    side = input.fieldIndex(Col.SIDE);
    inputs = new int[2];
    outputs = new int[2];
    fields = new int[2];
    rows = new StepState.ByTime[2];
    times = new StepState.ByTime[2];
    open = new StepState.ByTime[2];
    for (int i = 0; i < 2; i++) {
      inputs[i] = input.fieldIndex(NAMES[i]);
      outputs[i] = output.fieldIndex(NAMES[i]);
      fields[i] = ((StructType) input.apply(NAMES[i]).dataType()).length();
      rows[i] = state.byKeyThenTime("rows" + i, true);
      times[i] = state.byTimeThenKey("times" + i);
      open[i] = state.byTimeThenKey("open" + i);
    }
    timeOut = output.fieldIndex(Col.ROWTIME);
    headers = List.of(input.fieldNames()).indexOf(Col.HEADERS);
    headersOut = List.of(output.fieldNames()).indexOf(Col.HEADERS);
    width = output.length();
    nextOpen = new HashMap<>(); // of a partition that is not in it: not known, looked for once
    firstOpen = new long[] {Long.MIN_VALUE, Long.MIN_VALUE};
    swept = new long[2];
    sides = state.byKey("sides");
    sideTimes = new HashMap<>();
    UnsafeRow stored = sides.get(ALL, 1); // states of earlier versions have none
    if (stored != null) {
      ByteBuffer each = ByteBuffer.wrap(stored.getBinary(0));
      while (each.hasRemaining()) {
        sideTimes.put(each.getInt(), new long[] {each.getLong(), each.getLong()});
      }
    }
  }

  @Override
  protected void finish() {
    ByteBuffer each = ByteBuffer.allocate(20 * sideTimes.size());
    sideTimes.forEach((number, of) -> each.putInt(number).putLong(of[0]).putLong(of[1]));
    sides.put(ALL, new Rows(DataTypes.BinaryType).of((Object) each.array()));
  }

  @Override
  protected void step(InternalRow in) {
    int mine = in.getByte(side);
    int other = 1 - mine;
    UnsafeRow row = (UnsafeRow) in.getStruct(inputs[mine], fields[mine]);
    if (!hasKey(in)) { // it only comes where its side does without a partner, and waits for none
      give(in, mine, row, null, ownTime(in));
      return;
    }
    byte[] key = key(in);
    long until = streamTime;
    long[] newest = sideTimes.computeIfAbsent(lane, number -> new long[] {until, until});
    long at = time(in);
    newest[mine] = Math.max(newest[mine], at);
    if (deferred && at == streamTime) {
      close(in);
    }
    long from = Math.max(0, at - before[mine]);
    long to = at + after[mine];
    boolean alone = true;
    for (Timed found : rows[other].of(key, Math.max(from, newest[other] - kept() + 1), to, fields[other])) {
      alone = false;
      if (deferred && padded[other]) {
        open[other].remove(key, found.time());
      }
      give(in, mine, row, found.row(), Math.max(at, found.time()));
    }
    boolean late = at <= newest[mine] - kept();
    if (alone && padded[mine] && (!deferred || late || comesAtOnce(mine, key, at, to < streamTime))) {
      give(in, mine, row, null, at);
    }
    if (!late) {
      rows[mine].add(key, at, row);
      times[mine].put(key, at, longs());
    }
    long often = Math.max(1000, kept() / SWEEPS);
    if (newest[mine] - kept() - swept[mine] > often) { // else no partition need be looked at
      long old = Math.min(slowest(LONGER), slowestOf(mine)) - kept();
      if (old - swept[mine] > often) {
        sweep(mine, old);
      }
    }
  }

  /** The time that a side has reached in all partitions that have rows of it, but at most so far behind its fastest. */
  private long slowestOf(int which) {
    long least = Long.MAX_VALUE;
    long most = -1;
    for (long[] newest : sideTimes.values()) {
      if (newest[which] >= 0) {
        least = Math.min(least, newest[which]);
        most = Math.max(most, newest[which]);
      }
    }
    return Math.max(least, most - LONGER);
  }

  /**
   * Whether a row without a partner, which is not among the others yet, comes at once, as it does when it is {@code
   * behind}: its bound has passed. Else it waits until its window has closed.
   *
   * <p>The rows of one key and time wait together; which of them came at once is marked there.
   */
  private boolean comesAtOnce(int mine, byte[] key, long at, boolean behind) {
    // In one partition none of that time was behind before.
    if (!behind && !hasSeveralLanes() || !rows[mine].has(key, at)) {
      if (!behind) {
        wait(mine, key, at, longs(lane));
      }
      return behind;
    }
    UnsafeRow waiting = open[mine].get(key, at, 2);
    long marks = marks(waiting);
    if (waiting != null && !behind) {
      wait(mine, key, at, longs(lane, marks));
      return false;
    }
    int there = rows[mine].of(key, at, at, fields[mine]).size();
    if (waiting == null) {
      if (!behind && there <= MARKS) {
        wait(mine, key, at, longs(lane, (1L << there) - 1));
      }
      return behind || there > MARKS;
    }
    if (there < MARKS) {
      open[mine].put(key, at, longs(waiting.getLong(0), marks | 1L << there));
    }
    return there < MARKS;
  }

  private void wait(int mine, byte[] key, long at, UnsafeRow row) {
    open[mine].put(key, at, row);
    firstOpen[mine] = Math.min(firstOpen[mine], at);
    nextOpen.computeIfPresent(lane, (number, first) -> Math.min(first, at));
  }

  /** Of the rows of one key and time a bit for each that came at once; states of earlier versions have none. */
  private static long marks(UnsafeRow waiting) {
    return waiting == null || waiting.getSizeInBytes() < longs(0, 0).getSizeInBytes() ? 0 : waiting.getLong(1);
  }

  /** How long rows are kept for partners, in ms of stream time. */
  private long kept() {
    return before[0] + after[0] + grace;
  }

  private void give(InternalRow in, int mine, UnsafeRow row, UnsafeRow partner, long at) {
    Object[] values = new Object[width];
    values[outputs[mine]] = row.copy();
    values[outputs[1 - mine]] = partner;
    values[timeOut] = at;
    if (headersOut >= 0 && !in.isNullAt(headers)) {
      values[headersOut] = InternalRow.copyValue(in.getArray(headers));
    }
    give(values);
  }

  /** Gives the rows of this partition number without a partner whose window has closed, in the order of their time. */
  private void close(InternalRow in) {
    long first = nextOpen.getOrDefault(lane, Long.MIN_VALUE);
    if (first >= streamTime - grace - Math.min(after[0], after[1])) {
      return;
    }
    // Of one time the right rows come first, as in Kafka Streams' store.
    long[] next = {Long.MAX_VALUE, Long.MAX_VALUE};
    List<List<Timed>> closed = List.of(closed(0, next), closed(1, next));
    nextOpen.put(lane, Math.min(next[0], next[1]));
    int l = 0;
    int r = 0;
    while (l < closed.get(0).size() || r < closed.get(1).size()) {
      boolean right =
          l == closed.get(0).size()
              || r < closed.get(1).size() && closed.get(1).get(r).time() <= closed.get(0).get(l).time();
      int which = right ? 1 : 0;
      Timed found = right ? closed.get(1).get(r++) : closed.get(0).get(l++);
      open[which].remove(found.key(), found.time());
      long marks = marks(found.row());
      int place = 0;
      for (Timed each : rows[which].of(found.key(), found.time(), found.time(), fields[which])) {
        if ((marks >>> Math.min(place++, MARKS) & 1) == 0) {
          give(in, which, each.row(), null, each.time());
        }
      }
    }
  }

  private List<Timed> closed(int which, long[] next) {
    List<Timed> found = new ArrayList<>();
    if (padded[which]) {
      long from = firstOpen[which];
      firstOpen[which] = Long.MAX_VALUE;
      open[which].each(
          from,
          2,
          row -> {
            boolean over = row.time() + after[which] + grace < streamTime;
            if (!over || row.row().getLong(0) != lane) { // it stays
              firstOpen[which] = Math.min(firstOpen[which], row.time());
            }
            if (row.row().getLong(0) == lane) {
              if (over) {
                found.add(row);
              } else {
                next[which] = row.time();
              }
            }
            return over || next[which] == Long.MAX_VALUE;
          });
    }
    return found;
  }

  /** Removes the rows of a side that no partner can find any more. */
  private void sweep(int which, long old) {
    long from = swept[which] == 0 ? Long.MIN_VALUE : swept[which];
    swept[which] = old;
    StepState.ByTime own = rows[which];
    StepState.ByTime index = times[which];
    index.each(
        from,
        0,
        row -> {
          if (row.time() > old) {
            return false;
          }
          own.remove(row.key(), row.time());
          index.remove(row.key(), row.time());
          return true;
        });
  }
}
