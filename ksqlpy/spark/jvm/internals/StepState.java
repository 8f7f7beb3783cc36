package ksqlpy.internals;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;
import org.apache.spark.sql.execution.streaming.state.KeyStateEncoderSpec;
import org.apache.spark.sql.execution.streaming.state.NoPrefixKeyStateEncoderSpec;
import org.apache.spark.sql.execution.streaming.state.PrefixKeyScanStateEncoderSpec;
import org.apache.spark.sql.execution.streaming.state.StateStore;
import org.apache.spark.sql.execution.streaming.state.StateStoreIterator;
import org.apache.spark.sql.execution.streaming.state.TimestampAsPostfixKeyStateEncoderSpec;
import org.apache.spark.sql.execution.streaming.state.TimestampAsPrefixKeyStateEncoderSpec;
import org.apache.spark.sql.execution.streaming.state.TimestampKeyStateEncoder;
import org.apache.spark.sql.execution.streaming.state.UnsafeRowPair;
import org.apache.spark.sql.types.StructType;
import scala.Option;

/**
 * The state of a step in one task: column families of Spark's state store. Rows are stored as their bytes. Scans see the
 * state as it was when they began.
 */
public final class StepState {
  static final StructType KEY = StructType.fromDDL("k BINARY");
  static final StructType VALUE = StructType.fromDDL("v BINARY");
  private static final StructType TWO = StructType.fromDDL("k BINARY, l BINARY");
  private static final StructType TIMED = TimestampKeyStateEncoder.keySchemaWithTimestamp(KEY);

  private final StateStore store;

  StepState(StateStore store) {
    this.store = store;
  }

  private void open(String name, StructType key, KeyStateEncoderSpec order, boolean several) {
    store.createColFamilyIfAbsent(name, key, VALUE, order, several, false);
  }

  /** One row for each key. */
  public ByKey byKey(String name) {
    open(name, KEY, new NoPrefixKeyStateEncoderSpec(KEY), false);
    return new ByKey(name);
  }

  /** Rows of a key in the order of their time; {@code several}: of one time too, in the order in which they were added. */
  public ByTime byKeyThenTime(String name, boolean several) {
    open(name, TIMED, new TimestampAsPostfixKeyStateEncoderSpec(TIMED), several);
    return new ByTime(name, several);
  }

  /** Rows of all keys in the order of their time, those of one time in the order of the bytes of their keys. */
  public ByTime byTimeThenKey(String name) {
    open(name, TIMED, new TimestampAsPrefixKeyStateEncoderSpec(TIMED), false);
    return new ByTime(name, false);
  }

  /** Rows of a key and a second one below it. */
  public ByTwo byTwo(String name) {
    open(name, TWO, new PrefixKeyScanStateEncoderSpec(TWO, 1), false);
    return new ByTwo(name);
  }

  /** A family of the store whose keys are two times bytes; the rows of a first key lie together. */
  public final class ByTwo {
    private final String name;
    private final UnsafeRowWriter writer = new UnsafeRowWriter(2, 64);

    private ByTwo(String name) {
      this.name = name;
    }

    private UnsafeRow key(byte[] first, byte[] second) {
      writer.reset();
      writer.zeroOutNullBytes();
      writer.write(0, first);
      writer.write(1, second);
      return writer.getRow();
    }

    /** Sets the row of both keys. */
    public void put(byte[] first, byte[] second, UnsafeRow row) {
      store.put(key(first, second), row, name);
    }

    /** Removes the row of both keys, if there is one. */
    public void remove(byte[] first, byte[] second) {
      store.remove(key(first, second), name);
    }

    /** The rows of a first key, in the order of the bytes of the second; copies. */
    public List<UnsafeRow> of(byte[] first, int fields) {
      UnsafeRowWriter prefix = new UnsafeRowWriter(1, first.length + 8);
      prefix.reset();
      prefix.zeroOutNullBytes();
      prefix.write(0, first);
      List<UnsafeRow> found = new ArrayList<>();
      StateStoreIterator<UnsafeRowPair> rows = store.prefixScan(prefix.getRow(), name);
      try {
        while (rows.hasNext()) {
          found.add(as(rows.next().value(), fields).copy());
        }
      } finally {
        rows.close();
      }
      return found;
    }
  }

  /** A family of the store whose keys are bytes. */
  public final class ByKey {
    private final String name;
    private final UnsafeRowWriter writer = new UnsafeRowWriter(1, 64);

    private ByKey(String name) {
      this.name = name;
    }

    private UnsafeRow key(byte[] key) {
      writer.reset();
      writer.zeroOutNullBytes();
      writer.write(0, key);
      return writer.getRow();
    }

    /** The row of a key with so many fields, null if there is none; valid until the next call. */
    public UnsafeRow get(byte[] key, int fields) {
      return as(store.get(key(key), name), fields);
    }

    /** Sets the row of a key. */
    public void put(byte[] key, UnsafeRow row) {
      store.put(key(key), row, name);
    }

    /** Removes the row of a key, if there is one. */
    public void remove(byte[] key) {
      store.remove(key(key), name);
    }
  }

  /** A family of the store whose keys are bytes and a time. */
  public final class ByTime {
    private final String name;
    private final boolean several;
    private final UnsafeRowWriter writer = new UnsafeRowWriter(2, 64);

    private ByTime(String name, boolean several) {
      this.name = name;
      this.several = several;
    }

    private UnsafeRow key(byte[] key, long time) {
      writer.reset();
      writer.zeroOutNullBytes();
      writer.write(0, key);
      writer.write(1, time);
      return writer.getRow();
    }

    /** The row, null if there is none; valid until the next call. */
    public UnsafeRow get(byte[] key, long time, int fields) {
      return as(store.get(key(key, time), name), fields);
    }

    /** Sets the row, in place of what is there. */
    public void put(byte[] key, long time, UnsafeRow row) {
      store.put(key(key, time), row, name);
    }

    /** Adds a row to those of the key and time, which are not read for it. */
    public void add(byte[] key, long time, UnsafeRow row) {
      store.merge(key(key, time), row, name);
    }

    /** Removes what is there. */
    public void remove(byte[] key, long time) {
      store.remove(key(key, time), name);
    }

    /** Rows of the key with the time from {@code from} to {@code to}, both included; copies. */
    public List<Timed> of(byte[] key, long from, long to, int fields) {
      List<Timed> found = new ArrayList<>();
      scan(key(key, from).copy(), key(key, to == Long.MAX_VALUE ? to : to + 1).copy(), fields, row -> found.add(row));
      return found;
    }

    /** Rows of the key from a time on, up to the first that {@code wanted} refuses; copies. */
    public void from(byte[] key, long from, int fields, java.util.function.Predicate<Timed> wanted) {
      scan(key(key, from).copy(), key(key, Long.MAX_VALUE).copy(), fields, wanted);
    }

    /** All rows in their order, up to the first that {@code wanted} refuses; copies. */
    public void each(int fields, java.util.function.Predicate<Timed> wanted) {
      scan(null, null, fields, wanted);
    }

    private void scan(UnsafeRow from, UnsafeRow to, int fields, java.util.function.Predicate<Timed> wanted) {
      Option<UnsafeRow> low = Option.apply(from);
      Option<UnsafeRow> high = Option.apply(to);
      StateStoreIterator<UnsafeRowPair> rows =
          several ? store.rangeScanWithMultiValues(low, high, name) : store.rangeScan(low, high, name);
      try {
        while (rows.hasNext()) {
          UnsafeRowPair pair = rows.next();
          UnsafeRow key = pair.key();
          if (!wanted.test(new Timed(key.getBinary(0), key.getLong(1), as(pair.value(), fields).copy()))) {
            return;
          }
        }
      } finally {
        rows.close();
      }
    }
  }

  /** A stored row with its key. */
  public record Timed(byte[] key, long time, UnsafeRow row) {}

  private static UnsafeRow as(UnsafeRow stored, int fields) {
    if (stored == null) {
      return null;
    }
    UnsafeRow row = new UnsafeRow(fields);
    row.pointTo(stored.getBaseObject(), stored.getBaseOffset(), stored.getSizeInBytes());
    return row;
  }
}
