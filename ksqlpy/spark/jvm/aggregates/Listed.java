package ksqlpy.aggregates;

import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.types.StructType;

/** Keeps the first or the last so many items, in the order in which they came. */
public final class Listed extends Items {
  private static final long serialVersionUID = 1L;

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

  @Override
  void add(List<byte[]> items, byte[] added) {
    if (items.size() >= limit && !last) {
      return;
    }
    if (distinct && items.stream().anyMatch(item -> Arrays.equals(item, added))) {
      return;
    }
    items.add(added);
    if (items.size() > limit) {
      items.remove(0);
    }
  }
}
