package ksqlpy.aggregates;

import java.util.List;
import org.apache.spark.sql.types.StructType;

/** Keeps the first or the last so many items, in the order in which they came. */
public final class Listed extends Items {
  private final int limit;
  private final boolean last;
  private final boolean distinct;

  /** {@code last}: a new item puts out the oldest; otherwise no more are taken. {@code distinct}: none twice. */
  public Listed(String spec, StructType arguments, boolean whole, int limit, boolean last, boolean distinct) {
    super(spec, arguments, whole);
    this.limit = limit;
    this.last = last;
    this.distinct = distinct;
  }

  void add(List items, byte[] added) {
    if (items.size() >= limit && !last) {
      return;
    }
    if (distinct && contains(items, added)) {
      return;
    }
    items.add(added);
    if (items.size() > limit) {
      items.remove(0);
    }
  }

  private static boolean contains(List items, byte[] sought) {
    for (int i = 0; i < items.size(); i++) {
      if (java.util.Arrays.equals((byte[]) items.get(i), sought)) {
        return true;
      }
    }
    return false;
  }
}
