package ksqlpy.steps;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import ksqlpy.internals.Rows;
import ksqlpy.internals.StepState;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * A table joined with another by a foreign key, in three steps: {@link Changes} tells the old and the new foreign key of
 * each left row that changes, {@link Matches} keeps the left rows of a foreign key beside its right row, {@link Latest}
 * drops what the left row has overtaken.
 *
 * <p>Source of the rules: Kafka Streams, SubscriptionSendProcessorSupplier, SubscriptionJoinProcessorSupplier,
 * ForeignTableJoinProcessorSupplier and ResponseJoinProcessorSupplier. There a hash of the left row tells what is
 * overtaken, here the number of its change.
 */
public final class ForeignKey {
  /** Keep the row, and give a result if there is a right row. */
  static final byte PUT = 0;

  /** Keep the row, and give its result, even if that is none. */
  static final byte REPLACE = 1;

  /** Forget the row, and give that there is no result. */
  static final byte DELETE = 2;

  /** Forget the row. */
  static final byte FORGET = 3;

  private ForeignKey() {}

  private static StructType of(StructType input, String... names) {
    StructType made = new StructType();
    for (String name : names) {
      if (List.of(input.fieldNames()).contains(name)) {
        made = made.add(input.apply(name));
      }
    }
    return made.add(Col.ROW, DataTypes.LongType).add(Col.PROGRESS, DataTypes.BinaryType);
  }

  private static int width(StructType input, String name) {
    return ((StructType) input.apply(name).dataType()).length();
  }

  /** The columns of a step by their names, in and out. */
  private static final class Columns {
    private final StructType input;
    private final StructType output;
    private final int[] from;

    Columns(StructType input, StructType output) {
      this.input = input;
      this.output = output;
      from = new int[output.length()];
      for (int i = 0; i < from.length; i++) {
        from[i] = List.of(input.fieldNames()).indexOf(output.fieldNames()[i]);
      }
    }

    int in(String name) {
      return input.fieldIndex(name);
    }

    /** The values of a row that comes in, for one that comes out. */
    Object[] values(InternalRow in) {
      Object[] values = new Object[from.length];
      for (int i = 0; i < from.length; i++) {
        if (from[i] >= 0 && !in.isNullAt(from[i])) {
          DataType type = output.fields()[i].dataType();
          values[i] = InternalRow.copyValue(in.get(from[i], type));
        }
      }
      return values;
    }

    void set(Object[] values, String name, Object value) {
      values[output.fieldIndex(name)] = value;
    }
  }

  /**
   * Left rows come with {@code __side} 0, {@code __pk} (STRUCT), {@code __fk} (STRUCT, null for none), {@code __left}
   * (STRUCT) and {@code __del}; what comes out has {@code __op}, and the number of the change as {@code __version}.
   * Right rows pass by.
   *
   * <p>The offset of the left row would not do: a left row that is the result of a join comes from several topics. The
   * number counts the changes of the task, in which all rows of one key are; so a row that is deleted and comes anew has
   * a higher one than before.
   */
  public static final class Changes extends Step {
    private static final long serialVersionUID = 1L;

    private static final byte[] ONLY = new byte[0];

    private final boolean left;

    private transient Columns columns;
    private transient StepState.ByKey rows;
    private transient StepState.ByKey counter;
    private transient long changes;
    private transient Rows pair;
    private transient int fkWidth;
    private transient int leftWidth;

    /** {@code left}: whether rows without a right row have a result, too. */
    public Changes(int number, int[] lanes, boolean left) {
      super(number, lanes);
      this.left = left;
    }

    @Override
    public Step copy() {
      return new Changes(number(), lanes(), left);
    }

    @Override
    public StructType output(StructType input) {
      StructType made =
          of(
              input, Col.SIDE, Col.PK, Col.FK, Col.LEFT, Col.RIGHT, Col.DELETED, Col.ROWTIME, Col.TURN, Col.HEADERS,
              Col.PARTITION, Col.OFFSET, Col.RAW, Col.REASON);
      return made.add(Col.OP, DataTypes.ByteType).add(Col.VERSION, DataTypes.LongType);
    }

    @Override
    protected void open(StepState state, StructType input) {
      columns = new Columns(input, output(input));
      rows = state.byKey("rows");
      counter = state.byKey("changes");
      UnsafeRow counted = counter.get(ONLY, 1);
      changes = counted == null ? 0 : counted.getLong(0);
      pair = new Rows(input.apply(Col.FK).dataType(), input.apply(Col.LEFT).dataType());
      fkWidth = width(input, Col.FK);
      leftWidth = width(input, Col.LEFT);
    }

    @Override
    protected void step(InternalRow in) {
      if (in.getByte(columns.in(Col.SIDE)) != 0) {
        give(columns.values(in));
        return;
      }
      changes++;
      byte[] pk = ((UnsafeRow) in.getStruct(columns.in(Col.PK), 1)).getBytes();
      UnsafeRow stored = rows.get(pk, 2);
      UnsafeRow before = stored == null ? null : stored.copy();
      InternalRow oldKey = before == null || before.isNullAt(0) ? null : before.getStruct(0, fkWidth);
      if (in.getBoolean(columns.in(Col.DELETED))) {
        rows.remove(pk);
        if (before != null && (left || oldKey != null)) {
          tell(in, DELETE, oldKey, before.getStruct(1, leftWidth));
        }
        return;
      }
      boolean keyless = in.isNullAt(columns.in(Col.FK));
      InternalRow key = keyless ? null : in.getStruct(columns.in(Col.FK), fkWidth);
      InternalRow row = in.getStruct(columns.in(Col.LEFT), leftWidth);
      rows.put(pk, pair.of(key, row));
      if (!left && keyless) {
        if (oldKey != null) {
          tell(in, DELETE, oldKey, before.getStruct(1, leftWidth));
        }
        return;
      }
      if (oldKey != null && !oldKey.equals(key)) {
        tell(in, FORGET, oldKey, before.getStruct(1, leftWidth));
      }
      tell(in, left || oldKey != null ? REPLACE : PUT, key, row);
    }

    @Override
    protected void finish() {
      counter.put(ONLY, longs(changes));
    }

    private void tell(InternalRow in, byte op, InternalRow key, InternalRow row) {
      Object[] values = columns.values(in);
      columns.set(values, Col.OP, op);
      columns.set(values, Col.VERSION, changes);
      columns.set(values, Col.FK, key == null ? null : key.copy());
      columns.set(values, Col.LEFT, row.copy());
      give(values);
    }
  }

  /**
   * Takes what {@link Changes} tells, and right rows ({@code __side} 1, {@code __right}, {@code __del}). What comes out
   * has {@code __left}, {@code __right}, one of them null where there is none, and {@code __del}: whether there is no
   * result.
   */
  public static final class Matches extends Step {
    private static final long serialVersionUID = 1L;

    private final boolean left;
    private final boolean mixed;

    private transient Columns columns;
    private transient Map<List<ByteBuffer>, Long> newest;
    private transient StepState.ByKey rights;
    private transient StepState.ByTwo lefts;
    private transient int pkWidth;
    private transient int leftWidth;
    private transient int rightWidth;
    private transient Rows leftRow;
    private transient Rows rightRow;

    /**
     * {@code left}: whether rows without a right row have a result, too. {@code mixed}: whether the changes of one left row
     * may come in another order than that in which they were made, as in a batch that is sorted by time.
     */
    public Matches(int number, int[] lanes, boolean left, boolean mixed) {
      super(number, lanes);
      this.left = left;
      this.mixed = mixed;
    }

    @Override
    public Step copy() {
      return new Matches(number(), lanes(), left, mixed);
    }

    @Override
    public StructType output(StructType input) {
      return of(
          input, Col.PK, Col.LEFT, Col.RIGHT, Col.VERSION, Col.OP, Col.DELETED, Col.ROWTIME, Col.TURN, Col.HEADERS,
          Col.PARTITION, Col.OFFSET, Col.RAW, Col.REASON);
    }

    @Override
    protected void open(StepState state, StructType input) {
      columns = new Columns(input, output(input));
      newest = new HashMap<>();
      rights = state.byKey("rights");
      lefts = state.byTwo("lefts");
      leftRow = new Rows(input.apply(Col.PK).dataType(), input.apply(Col.LEFT).dataType(), DataTypes.LongType);
      rightRow = new Rows(input.apply(Col.RIGHT).dataType());
      pkWidth = width(input, Col.PK);
      leftWidth = width(input, Col.LEFT);
      rightWidth = width(input, Col.RIGHT);
    }

    @Override
    protected void step(InternalRow in) {
      byte[] key = in.isNullAt(columns.in(Col.FK)) ? null : key(in);
      if (in.getByte(columns.in(Col.SIDE)) == 0) {
        ofLeft(in, key);
      } else {
        ofRight(in, key);
      }
    }

    private void ofLeft(InternalRow in, byte[] key) {
      byte op = in.getByte(columns.in(Col.OP));
      byte[] pk = ((UnsafeRow) in.getStruct(columns.in(Col.PK), pkWidth)).getBytes();
      if (mixed && key != null && isOvertaken(key, pk, in.getLong(columns.in(Col.VERSION)))) {
        return;
      }
      UnsafeRow right = null;
      if (key != null && (op == DELETE || op == FORGET)) {
        lefts.remove(key, pk);
      } else if (key != null) {
        lefts.put(key, pk, kept(in));
        UnsafeRow found = rights.get(key, 1);
        right = found == null ? null : found.getStruct(0, rightWidth).copy();
      }
      if (op == FORGET || op == PUT && right == null && !left) {
        return;
      }
      boolean gone = op == DELETE || right == null && !left;
      tell(in, in.getStruct(columns.in(Col.PK), pkWidth), in.getStruct(columns.in(Col.LEFT), leftWidth), right,
          in.getLong(columns.in(Col.VERSION)), op, gone);
    }

    private void ofRight(InternalRow in, byte[] key) {
      boolean deleted = in.getBoolean(columns.in(Col.DELETED));
      UnsafeRow right = deleted ? null : (UnsafeRow) in.getStruct(columns.in(Col.RIGHT), rightWidth).copy();
      if (deleted) {
        rights.remove(key);
      } else {
        rights.put(key, rightRow.of(right));
      }
      for (UnsafeRow row : lefts.of(key, 3)) {
        tell(in, row.getStruct(0, pkWidth), row.getStruct(1, leftWidth), right, row.getLong(2), REPLACE,
            deleted && !left);
      }
    }

    /** Whether a later change of the left row was taken in this batch; those of earlier batches are earlier changes. */
    private boolean isOvertaken(byte[] key, byte[] pk, long version) {
      return newest.merge(List.of(ByteBuffer.wrap(key), ByteBuffer.wrap(pk)), version, Math::max) > version;
    }

    private UnsafeRow kept(InternalRow in) {
      return leftRow.of(
          in.getStruct(columns.in(Col.PK), pkWidth),
          in.getStruct(columns.in(Col.LEFT), leftWidth),
          in.getLong(columns.in(Col.VERSION)));
    }

    private void tell(
        InternalRow in, InternalRow pk, InternalRow row, InternalRow right, long version, byte op, boolean gone) {
      Object[] values = columns.values(in);
      columns.set(values, Col.PK, pk.copy());
      columns.set(values, Col.LEFT, row.copy());
      columns.set(values, Col.RIGHT, right);
      columns.set(values, Col.VERSION, version);
      columns.set(values, Col.OP, op);
      columns.set(values, Col.DELETED, gone);
      give(values);
    }
  }

  /** Drops results of left rows that have changed since. The key is that of the left row. */
  public static final class Latest extends Step {
    private static final long serialVersionUID = 1L;

    private transient Columns columns;
    private transient StepState.ByKey versions;
    private transient List<byte[]> deleted;

    /** As all steps. */
    public Latest(int number, int[] lanes) {
      super(number, lanes);
    }

    @Override
    public Step copy() {
      return new Latest(number(), lanes());
    }

    @Override
    public StructType output(StructType input) {
      return of(
          input, Col.LEFT, Col.RIGHT, Col.DELETED, Col.ROWTIME, Col.HEADERS, Col.PARTITION, Col.OFFSET, Col.RAW,
          Col.REASON);
    }

    @Override
    protected void open(StepState state, StructType input) {
      columns = new Columns(input, output(input));
      versions = state.byKey("versions");
      deleted = new ArrayList<>();
    }

    @Override
    protected void step(InternalRow in) {
      byte[] key = key(in);
      long version = in.getLong(columns.in(Col.VERSION));
      UnsafeRow known = versions.get(key, 1);
      if (known != null && known.getLong(0) > version) {
        return;
      }
      if (known == null || known.getLong(0) < version) {
        versions.put(key, longs(version));
      }
      if (in.getByte(columns.in(Col.OP)) == DELETE) {
        deleted.add(key);
      }
      give(columns.values(in));
    }

    /** With the end of a batch nothing is on its way any more that a deleted row has overtaken. */
    @Override
    protected void finish() {
      deleted.forEach(versions::remove);
    }
  }
}
