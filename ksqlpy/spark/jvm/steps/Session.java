package ksqlpy.steps;

import java.util.ArrayList;
import java.util.List;
import ksqlpy.functions.Counter;
import ksqlpy.internals.Aggregation;
import ksqlpy.internals.StepState;
import ksqlpy.internals.StepState.Timed;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * Groups of rows of one key in sessions: rows that are no more than a gap apart share one.
 *
 * <p>What comes out has {@code __key}, {@code __ws} and {@code __we}, the first and the last time of the session, {@code
 * __del}, whether the session is gone, and the results of the aggregates, null for one that is gone.
 *
 * <p>Source of the rules: Kafka Streams, KStreamSessionWindowAggregate. A row merges all sessions that it reaches; each
 * is removed by a tombstone first, unless it has no other bounds than the row itself.
 */
public final class Session extends Step {
  private static final long serialVersionUID = 1L;

  private final long gap;
  private final long grace;
  private final String query;
  private final Aggregation aggregation;
  private final String[] names;
  private final String[] carried;

  private transient int group;
  private transient int groupFields;
  private transient int cells; // the columns ahead of the results
  private transient int timeCell;
  private transient Carried fromRow;
  private transient int width;
  private transient StructField[] results;
  private transient Aggregation.Working working;
  private transient StepState.ByTime sessions;
  private transient StepState.ByTime ends;
  private transient long swept;

  /**
   * {@code gap}, {@code grace}: in ms; {@code query}: under which late rows are counted; {@code names}: of the columns
   * {@code __ws}, {@code __we} and {@code __del}, and where late rows come out, too, of one more: of a late row it is
   * the stream time, and all but its time and {@code carried} is null; {@code carried}: columns that results have from
   * the row that brings them about.
   */
  public Session(
      int number,
      int[] lanes,
      long gap,
      long grace,
      String query,
      Aggregation aggregation,
      String[] names,
      String[] carried) {
    super(number, lanes);
    this.gap = gap;
    this.grace = grace;
    this.query = query;
    this.aggregation = aggregation;
    this.names = names.clone();
    this.carried = carried.clone();
  }

  @Override
  public Step copy() {
    return new Session(number(), lanes(), gap, grace, query, aggregation, names, carried);
  }

  @Override
  public StructType output(StructType input) {
    StructType made = new StructType().add(input.apply(Col.KEY));
    made = made.add(names[0], DataTypes.LongType).add(names[1], DataTypes.LongType);
    made = made.add(names[2], DataTypes.BooleanType);
    for (int i = 3; i < names.length; i++) {
      made = made.add(names[i], DataTypes.LongType);
    }
    for (StructField field : aggregation.schema().fields()) {
      made = made.add(field);
    }
    for (String name : List.of(Col.PARTITION, Col.OFFSET, Col.RAW, Col.REASON)) {
      made = made.add(input.apply(name));
    }
    for (String name : carried) {
      made = made.add(input.apply(name));
    }
    return made.add(Col.ROW, DataTypes.LongType).add(Col.PROGRESS, DataTypes.BinaryType);
  }

  @Override
  protected void open(StepState state, StructType input) {
    StructType output = output(input);
    group = input.fieldIndex(Col.KEY);
    groupFields = ((StructType) input.apply(Col.KEY).dataType()).length();
    fromRow = new Carried(carried, input, output);
    results = aggregation.schema().fields();
    cells = 1 + names.length;
    timeCell = aggregation.schema().fieldIndex(Col.ROWTIME);
    width = output.length();
    working = aggregation.start(1);
    sessions = state.byKeyThenTime("sessions", false);
    ends = state.byTimeThenKey("ends");
    swept = 0;
  }

  @Override
  protected void step(InternalRow in) {
    byte[] key = key(in);
    long kept = streamTime - gap - grace + 1; // what ended before is closed, whether or not it was removed
    long at = time(in);
    long start = at;
    long end = at;
    List<Timed> merged = new ArrayList<>();
    sessions.from(
        key,
        Math.max(Math.max(0, at - gap), kept),
        working.width(),
        session -> session.row().getLong(0) <= at + gap && merged.add(session));
    for (Timed session : merged) {
      start = Math.min(start, session.row().getLong(0));
      end = Math.max(end, session.time());
    }
    if (end < streamTime - gap - grace) {
      Counter.add(query + ":late");
      if (names.length > 3) {
        Object[] late = new Object[width];
        late[cells - 1] = streamTime;
        late[cells + timeCell] = at;
        fromRow.copy(in, late);
        give(late);
      }
      return;
    }
    boolean grown = start != at || end != at;
    working.begin();
    for (Timed session : merged) {
      working.merge(session.row());
    }
    for (Timed session : merged) {
      if (grown) {
        Object[] gone = new Object[width];
        gone[cells + timeCell] = session.time();
        give(in, gone, session.row().getLong(0), session.time(), true);
      }
      if (session.time() != end) {
        sessions.remove(key, session.time());
        ends.remove(key, session.time());
      }
    }
    working.update(in);
    UnsafeRow result = working.result();
    Object[] values = new Object[width];
    for (int i = 0; i < results.length; i++) {
      values[cells + i] = result.isNullAt(i) ? null : InternalRow.copyValue(result.get(i, results[i].dataType()));
    }
    sessions.put(key, end, working.store(start));
    ends.put(key, end, longs());
    give(in, values, start, end, false);
    sweep();
  }

  private void give(InternalRow in, Object[] values, long start, long end, boolean gone) {
    values[0] = in.getStruct(group, groupFields).copy();
    values[1] = start;
    values[2] = end;
    values[3] = gone;
    fromRow.copy(in, values);
    give(values);
  }

  /** Removes the sessions that no row can reach any more. */
  private void sweep() {
    long old = slowest(86_400_000) - 2 * gap - grace;
    if (old - swept <= Math.max(1000, gap)) {
      return;
    }
    long from = swept == 0 ? Long.MIN_VALUE : swept;
    swept = old;
    ends.each(
        from,
        0,
        row -> {
          if (row.time() >= old) {
            return false;
          }
          sessions.remove(row.key(), row.time());
          ends.remove(row.key(), row.time());
          return true;
        });
  }
}
