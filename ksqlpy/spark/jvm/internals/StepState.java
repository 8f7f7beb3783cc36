package ksqlpy.internals;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import ksqlpy.internals.Unwritten.Place;
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
  private final ByKey marks;
  private final List<ByTime> timed = new ArrayList<>();

  StepState(StateStore store) {
    this.store = store;
    marks = byKey("written");
  }

  /** Writes all rows that are in memory, as must be done ahead of a commit. */
  public void write() {
    timed.forEach(ByTime::write);
  }

  /** Frees what rows in memory count for. */
  void close() {
    timed.forEach(family -> family.recent.taken());
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
    return timed(new ByTime(name, several, false));
  }

  /** Rows of all keys in the order of their time, those of one time in the order of the bytes of their keys. */
  public ByTime byTimeThenKey(String name) {
    open(name, TIMED, new TimestampAsPrefixKeyStateEncoderSpec(TIMED), false);
    return timed(new ByTime(name, false, true));
  }

  private ByTime timed(ByTime family) {
    timed.add(family);
    return family;
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

  /**
   * A family of the store whose keys are bytes and a time. New rows are in memory until {@link StepState#write}, or until
   * they are many. {@code written}: the highest time of a row that was ever written; what is later is in memory only, so
   * that the store is not asked for it.
   */
  public final class ByTime {
    private final String name;
    private final boolean several;
    private final UnsafeRowWriter writer = new UnsafeRowWriter(2, 64);
    private final Unwritten recent;
    private long written;

    private ByTime(String name, boolean several, boolean timeFirst) {
      this.name = name;
      this.several = several;
      recent = new Unwritten(timeFirst);
      UnsafeRow known = as(marks.get(name.getBytes(UTF_8), 1), 1);
      written = known != null ? known.getLong(0) : isEmpty() ? Long.MIN_VALUE : Long.MAX_VALUE;
    }

    private boolean isEmpty() {
      StateStoreIterator<UnsafeRowPair> rows = store.iterator(name);
      try {
        return !rows.hasNext();
      } finally {
        rows.close();
      }
    }

    private UnsafeRow key(byte[] key, long time) {
      writer.reset();
      writer.zeroOutNullBytes();
      writer.write(0, key);
      writer.write(1, time);
      return writer.getRow();
    }

    /** Sets the row, in place of what is there. */
    public void put(byte[] key, long time, UnsafeRow row) {
      put(new Place(key, time), row, false);
    }

    /** Adds a row to those of the key and time, which are not read for it. */
    public void add(byte[] key, long time, UnsafeRow row) {
      put(new Place(key, time), row, true);
    }

    private void put(Place place, UnsafeRow row, boolean add) {
      recent.put(place, row, add);
      if (recent.isMuch()) {
        write();
      }
    }

    /** Whether there is a row. */
    public boolean has(byte[] key, long time) {
      return recent.get(new Place(key, time)) != null || time <= written && store.keyExists(key(key, time), name);
    }

    /** The row with so many fields, of a family with one of each key and time; null if there is none; a copy. */
    public UnsafeRow get(byte[] key, long time, int fields) {
      List<UnsafeRow> mine = recent.get(new Place(key, time));
      if (mine != null) {
        return as(mine.get(0), fields).copy();
      }
      UnsafeRow stored = time <= written ? as(store.get(key(key, time), name), fields) : null;
      return stored == null ? null : stored.copy();
    }

    /** Removes what is there. */
    public void remove(byte[] key, long time) {
      recent.remove(new Place(key, time));
      if (time <= written) {
        store.remove(key(key, time), name);
      }
    }

    private void write() {
      long highest = written;
      for (Map.Entry<Place, List<UnsafeRow>> each : recent.taken().entrySet()) {
        Place place = each.getKey();
        highest = Math.max(highest, place.time());
        UnsafeRow key = key(place.key(), place.time());
        for (UnsafeRow row : each.getValue()) {
          if (several) {
            store.merge(key, row, name);
          } else {
            store.put(key, row, name);
          }
        }
      }
      if (highest != written) {
        written = highest;
        marks.put(name.getBytes(UTF_8), number(highest));
      }
    }

    /** Rows of the key with the time from {@code from} to {@code to}, both included; copies. */
    public List<Timed> of(byte[] key, long from, long to, int fields) {
      List<Timed> found = new ArrayList<>();
      UnsafeRow end = from > written ? null : key(key, to == Long.MAX_VALUE ? to : to + 1).copy();
      scan(new Place(key, from), new Place(key, to), end, fields, found::add);
      return found;
    }

    /** Rows of the key from a time on, up to the first that {@code wanted} refuses; copies. */
    public void from(byte[] key, long from, int fields, Predicate<Timed> wanted) {
      UnsafeRow end = from > written ? null : key(key, Long.MAX_VALUE).copy();
      scan(new Place(key, from), new Place(key, Long.MAX_VALUE), end, fields, wanted);
    }

    /**
     * All rows of a family that is in the order of time, from a time on, up to the first that {@code wanted} refuses;
     * copies. To begin behind what was removed matters: a scan passes each removed row that has not been compacted.
     */
    public void each(long from, int fields, Predicate<Timed> wanted) {
      scan(new Place(new byte[0], from), null, null, fields, wanted);
    }

    private void scan(Place from, Place to, UnsafeRow end, int fields, Predicate<Timed> wanted) {
      StateStoreIterator<UnsafeRowPair> rows = from.time() > written ? null : stored(from, end);
      try {
        Timed stored = next(rows, fields);
        Map.Entry<Place, List<UnsafeRow>> mine = recent.from(from);
        while (true) {
          if (mine != null && to != null && recent.compare(mine.getKey(), to) > 0) {
            mine = null;
          }
          if (stored == null && mine == null) {
            return;
          }
          int order =
              stored == null ? 1 : mine == null ? -1 : recent.compare(new Place(stored.key, stored.time), mine.getKey());
          if (order < 0 || order == 0 && several) { // of one place those of the store came earlier
            if (!wanted.test(stored)) {
              return;
            }
            stored = next(rows, fields);
          } else {
            Place place = mine.getKey();
            if (order == 0) {
              stored = next(rows, fields);
            }
            for (UnsafeRow row : mine.getValue()) {
              if (!wanted.test(new Timed(place.key(), place.time(), as(row, fields)))) {
                return;
              }
            }
            mine = recent.behind(place);
          }
        }
      } finally {
        if (rows != null) {
          rows.close();
        }
      }
    }

    private StateStoreIterator<UnsafeRowPair> stored(Place from, UnsafeRow end) {
      Option<UnsafeRow> low = from.time() == Long.MIN_VALUE ? Option.empty() : Option.apply(key(from.key(), from.time()).copy());
      return several
          ? store.rangeScanWithMultiValues(low, Option.apply(end), name)
          : store.rangeScan(low, Option.apply(end), name);
    }

    private Timed next(StateStoreIterator<UnsafeRowPair> rows, int fields) {
      if (rows == null || !rows.hasNext()) {
        return null;
      }
      UnsafeRowPair pair = rows.next();
      UnsafeRow key = pair.key();
      return new Timed(key.getBinary(0), key.getLong(1), as(pair.value(), fields).copy());
    }
  }

  /** A stored row with its key. */
  public record Timed(byte[] key, long time, UnsafeRow row) {}

  private static UnsafeRow number(long value) {
    UnsafeRow made = UnsafeRow.createFromByteArray(16, 1);
    made.setLong(0, value);
    return made;
  }

  private static UnsafeRow as(UnsafeRow stored, int fields) {
    if (stored == null) {
      return null;
    }
    UnsafeRow row = new UnsafeRow(fields);
    row.pointTo(stored.getBaseObject(), stored.getBaseOffset(), stored.getSizeInBytes());
    return row;
  }
}
