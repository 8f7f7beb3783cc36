package ksqlpy.steps;

import java.io.Serializable;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.IntConsumer;
import ksqlpy.internals.Rows;
import ksqlpy.internals.StepState;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * A stateful step of a plan: takes rows one after the other, and gives for each any number of rows, at once.
 *
 * <p>Rows have the columns {@code __key} (STRUCT, what rows of one key share), {@code __ts} (ROWTIME), {@code
 * __partition}, {@code __offset} and {@code __number} (the place of their record, and which of its rows this is), {@code
 * __raw} (not null for a record that could not be read, which passes by). Those that come out have these, {@code
 * __row}, their number among those of one record, and {@code __progress}: what the task had taken of each source
 * partition, by which a restart brings rows back into the order in which the task took them
 * (docs/internals/exactly-once.md).
 */
public abstract class Step implements Serializable {
  private static final long serialVersionUID = 1L;

  private static final byte[] ONLY = new byte[0];

  private final int number;
  private final int[] lanes;

  private transient Consumer<Object[]> out;
  private transient StructType output;
  private transient int key;
  private transient int time;
  private transient int partition;
  private transient int offset;
  private transient int raw;
  private transient int numbered;
  private transient int[] passed;
  private transient int partitionOut;
  private transient int offsetOut;
  private transient int row;
  private transient int progress;
  private transient int earlier;
  private transient int width;
  private transient boolean severalLanes;

  private transient StepState kept;
  private transient StepState.ByKey clock;
  private transient Map<Integer, Lane> streamTimes;
  private transient ByteBuffer seen;
  private transient int count;
  private transient long at;
  private transient InternalRow taken;

  /** The number of the source partition that the row comes from, the same for partitions of that number of all topics. */
  protected transient int lane;

  /**
   * The largest ROWTIME that the task has taken from partitions of the row's number, -1 before the first. Kafka Streams
   * has one stream time a task, and a task for each partition number.
   */
  protected transient long streamTime;

  /**
   * {@code number}: of the step in its plan. {@code lanes}: of each topic, how many partitions of it are watched; none
   * where the order is the same each time.
   */
  protected Step(int number, int[] lanes) {
    this.number = number;
    this.lanes = lanes.clone();
  }

  /** A step for another task. */
  public abstract Step copy();

  /** Opens the state. */
  protected abstract void open(StepState state, StructType input);

  /** Takes a row that could be read. */
  protected abstract void step(InternalRow row);

  /** The columns that come out, from those that come in. */
  public abstract StructType output(StructType input);

  /** The number of the step in its plan. */
  protected final int number() {
    return number;
  }

  /** How many partitions of each topic are watched. */
  protected final int[] lanes() {
    return lanes.clone();
  }

  /** Before the first row. {@code task}: the number of the task; {@code out} takes what comes out. */
  public final void begin(StepState state, StructType input, StructType output, int task, Consumer<Object[]> out) {
    this.out = out;
    this.output = output;
    key = input.fieldIndex(Col.KEY);
    time = input.fieldIndex(Col.ROWTIME);
    partition = input.fieldIndex(Col.PARTITION);
    offset = input.fieldIndex(Col.OFFSET);
    raw = input.fieldIndex(Col.RAW);
    numbered = input.fieldIndex(Col.NUMBER);
    passed = new int[output.length()];
    for (int i = 0; i < passed.length; i++) {
      passed[i] = Arrays.asList(input.fieldNames()).indexOf(output.fieldNames()[i]);
    }
    partitionOut = output.fieldIndex(Col.PARTITION);
    offsetOut = output.fieldIndex(Col.OFFSET);
    row = output.fieldIndex(Col.ROW);
    progress = output.fieldIndex(Col.PROGRESS);
    earlier = Arrays.asList(input.fieldNames()).indexOf(Col.PROGRESS);
    width = output.length();
    severalLanes = Arrays.stream(lanes).anyMatch(partitions -> partitions > 1);
    int watched = Arrays.stream(lanes).sum();
    seen = ByteBuffer.allocate(8 + 8 * watched);
    seen.putLong(0, ((long) number << 32) | task);
    kept = state;
    clock = state.byKey("clock");
    for (int i = 0; i < watched; i++) {
      seen.putLong(8 + 8 * i, -1);
    }
    streamTimes = new HashMap<>();
    UnsafeRow stored = clock.get(ONLY, 2);
    if (stored != null) {
      ByteBuffer places = ByteBuffer.wrap(stored.getBinary(0)); // by place: topics may have got partitions since
      while (places.hasRemaining()) {
        watch(places.getInt(), places.getLong());
      }
      ByteBuffer times = ByteBuffer.wrap(stored.getBinary(1));
      while (times.hasRemaining()) {
        streamTimes.put(times.getInt(), new Lane(times.getLong(), times.getInt(), times.getLong(), times.getLong()));
      }
    }
    open(state, input);
  }

  /** After the last row, while the state is still open. */
  protected void finish() {}

  /** After the last row. */
  public final void end() {
    finish();
    long now = System.nanoTime();
    ByteBuffer times = ByteBuffer.allocate(32 * streamTimes.size());
    streamTimes.forEach(
        (lane, of) ->
            times.putInt(lane).putLong(of.time).putInt(of.place).putLong(of.offset).putLong(now - of.taken));
    ByteBuffer places = ByteBuffer.allocate(12 * (seen.capacity() - 8) / 8);
    int watched = 0;
    for (int topic = 0; topic < lanes.length; topic++) {
      for (int partition = 0; partition < lanes[topic]; partition++) {
        places.putInt(topic << 16 | partition).putLong(seen.getLong(8 + 8 * watched++));
      }
    }
    clock.put(ONLY, new Rows(DataTypes.BinaryType, DataTypes.BinaryType).of(places.array(), times.array()));
    kept.write();
  }

  /** Takes a row. */
  public final void take(InternalRow in) {
    taken = in;
    count = 0;
    if (!in.isNullAt(raw)) {
      Object[] values = new Object[width];
      for (int i = 0; i < width; i++) {
        values[i] = passed[i] < 0 ? null : in.get(passed[i], output.fields()[i].dataType());
      }
      out.accept(values);
      return;
    }
    at = in.getLong(offset);
    int place = in.getInt(partition);
    watch(place, at);
    lane = place & 0xFFFF;
    Lane of = streamTimes.computeIfAbsent(lane, number -> new Lane(-1, place, at, 0));
    of.place = place;
    of.offset = at;
    of.taken = System.nanoTime();
    streamTime = of.time;
    step(in);
  }

  private void watch(int place, long offset) {
    int lane = place & 0xFFFF;
    int topic = place >>> 16;
    if (topic >= lanes.length || lane >= lanes[topic]) {
      return;
    }
    for (int i = 0; i < topic; i++) {
      lane += lanes[i];
    }
    seen.putLong(8 + 8 * lane, Math.max(offset, seen.getLong(8 + 8 * lane)));
  }

  /** The bytes of the row's key. */
  protected final byte[] key(InternalRow in) {
    return ((UnsafeRow) in.getStruct(key, 1)).getBytes();
  }

  /** Whether the row's key, or the first part of it, is not null. */
  protected final boolean hasKey(InternalRow in) {
    return !in.getStruct(key, 1).isNullAt(0);
  }

  /** The row's ROWTIME; stream time goes on with it. */
  protected final long time(InternalRow in) {
    long found = in.getLong(time);
    if (found > streamTime) {
      streamTime = found;
      streamTimes.get(lane).time = found;
    }
    return found;
  }

  /**
   * Lets the stream time of partition numbers whose last row came {@code idle} ms ago or earlier follow the clock, as far
   * behind it, and tells their numbers. What is given then has the place of the last row.
   */
  protected final void whileIdle(long idle, IntConsumer then) {
    long now = System.nanoTime();
    for (Map.Entry<Integer, Lane> each : Map.copyOf(streamTimes).entrySet()) {
      Lane of = each.getValue();
      long clock = System.currentTimeMillis() - idle;
      if (now - of.taken >= idle * 1_000_000 && clock > of.time) {
        of.time = clock;
        lane = each.getKey();
        streamTime = clock;
        then.accept(lane);
      }
    }
  }

  /** The row's ROWTIME, by which stream time does not go on. */
  protected final long ownTime(InternalRow in) {
    return in.getLong(time);
  }

  /** Gives a row that no record brings about; {@code number}: the same for the same row at each time. */
  protected final void giveIdle(Object[] values, long number) {
    Lane of = streamTimes.get(lane);
    values[partitionOut] = of.place;
    values[offsetOut] = of.offset;
    values[row] = number;
    values[progress] = seen.capacity() == 8 ? null : seen.array().clone();
    out.accept(values);
  }

  /** A partition number: its stream time, its last row, and when that came. */
  private static final class Lane {
    private long time;
    private int place;
    private long offset;
    private long taken;

    /** {@code idle}: for how many ns no row had come when the state was stored; a standstill of the query is no part. */
    Lane(long time, int place, long offset, long idle) {
      this.time = time;
      this.place = place;
      this.offset = offset;
      this.taken = System.nanoTime() - idle;
    }
  }

  /** Whether rows come from partitions of several numbers. */
  protected final boolean hasSeveralLanes() {
    return severalLanes || streamTimes.size() > 1;
  }

  /** The numbers of the partitions from which rows have come. */
  protected final Set<Integer> lanesSeen() {
    return Set.copyOf(streamTimes.keySet());
  }

  /** The stream time that all partitions have reached, but at most so many ms behind that of the fastest. */
  protected final long slowest(long behind) {
    long least = Long.MAX_VALUE;
    long most = -1;
    for (Lane of : streamTimes.values()) {
      least = Math.min(least, of.time);
      most = Math.max(most, of.time);
    }
    return Math.max(least == Long.MAX_VALUE ? -1 : least, most - behind);
  }

  /** A row of numbers, for the state. */
  protected static UnsafeRow longs(long... values) {
    int nulls = UnsafeRow.calculateBitSetWidthInBytes(values.length);
    UnsafeRow made = UnsafeRow.createFromByteArray(nulls + 8 * values.length, values.length);
    for (int i = 0; i < values.length; i++) {
      made.setLong(i, values[i]);
    }
    return made;
  }

  /** Gives a row: the values of {@link #output}, of which those of the record that is taken are set here. */
  protected final void give(Object[] values) {
    values[partitionOut] = taken.getInt(partition);
    values[offsetOut] = at;
    values[row] = (taken.getLong(numbered) << 24) + count++;
    if (seen.capacity() > 8) {
      values[progress] = seen.array().clone();
    } else if (earlier >= 0 && !taken.isNullAt(earlier)) {
      values[progress] = taken.getBinary(earlier);
    }
    out.accept(values);
  }
}
