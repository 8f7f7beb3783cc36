package ksqlpy.internals;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/**
 * The rows of a family of {@link StepState} that are not in the store yet, in the family's order. Most rows of a join or
 * of a window go before their batch ends: these never cost a write.
 */
final class Unwritten {
  /** A key and a time. */
  record Place(byte[] key, long time) {}

  /** Bytes from which on the rows of one family are written. More would make a commit late. */
  private static final long OF_ONE = 4 << 20;
  /** Bytes from which on families that have more than {@link #SMALL} are written: what all have of the heap. */
  private static final long OF_ALL = Runtime.getRuntime().maxMemory() / 8;

  private static final long SMALL = 64 << 10;
  /** Bytes of a row beside those of its key and value, about. */
  private static final long OVERHEAD = 160;

  private static final AtomicLong ALL = new AtomicLong();

  private static final Comparator<Place> BY_TIME =
      (a, b) -> a.time != b.time ? Long.compare(a.time, b.time) : compare(a.key, b.key);
  private static final Comparator<Place> BY_KEY =
      (a, b) -> {
        int keys = a.key == b.key ? 0 : compare(a.key, b.key);
        return keys != 0 ? keys : Long.compare(a.time, b.time);
      };

  private final Comparator<Place> order;
  private final TreeMap<Place, List<UnsafeRow>> rows;
  private long bytes = 0;

  /** {@code timeFirst}: whether the family has its rows in the order of time, not of keys. */
  Unwritten(boolean timeFirst) {
    order = timeFirst ? BY_TIME : BY_KEY;
    rows = new TreeMap<>(order);
  }

  /** As Spark's store compares keys: an UnsafeRow has the length of its bytes ahead of them, the lowest byte first. */
  private static int compare(byte[] a, byte[] b) {
    if (a.length != b.length) {
      return Integer.compareUnsigned(Integer.reverseBytes(a.length), Integer.reverseBytes(b.length));
    }
    return Arrays.compareUnsigned(a, b);
  }

  int compare(Place a, Place b) {
    return order.compare(a, b);
  }

  /** The rows of a place, null if there are none. */
  List<UnsafeRow> get(Place place) {
    return rows.get(place);
  }

  /** Sets the row of a place; {@code add}: adds to those that it has. */
  void put(Place place, UnsafeRow row, boolean add) {
    UnsafeRow copy = row.copy();
    List<UnsafeRow> there = rows.get(place);
    if (there == null) {
      List<UnsafeRow> made = new ArrayList<>(1);
      made.add(copy);
      rows.put(place, made);
      count(place.key.length + copy.getSizeInBytes() + OVERHEAD);
    } else if (add) {
      there.add(copy);
      count(copy.getSizeInBytes() + OVERHEAD);
    } else {
      count(copy.getSizeInBytes() - there.set(0, copy).getSizeInBytes());
    }
  }

  void remove(Place place) {
    List<UnsafeRow> gone = rows.remove(place);
    if (gone != null) {
      count(-size(place, gone));
    }
  }

  /** The first place that is not ahead of the given one, null if there is none. */
  Map.Entry<Place, List<UnsafeRow>> from(Place place) {
    return rows.ceilingEntry(place);
  }

  /** The first place behind the given one, null if there is none. */
  Map.Entry<Place, List<UnsafeRow>> behind(Place place) {
    return rows.higherEntry(place);
  }

  boolean isMuch() {
    return bytes > OF_ONE || bytes > SMALL && ALL.get() > OF_ALL;
  }

  /** All rows; none are left. */
  Map<Place, List<UnsafeRow>> taken() {
    Map<Place, List<UnsafeRow>> all = new TreeMap<>(rows);
    rows.clear();
    count(-bytes);
    return all;
  }

  private void count(long more) {
    bytes += more;
    ALL.addAndGet(more);
  }

  private static long size(Place place, List<UnsafeRow> rows) {
    long found = place.key.length;
    for (UnsafeRow row : rows) {
      found += row.getSizeInBytes() + OVERHEAD;
    }
    return found;
  }
}
