package ksqlpy.aggregates;

import java.util.Comparator;
import java.util.List;
import ksqlpy.functions.TextOrder;
import ksqlpy.internals.Orderings;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructType;

/** Keeps the items with the largest first fields, the largest first; of equal ones the earlier stays ahead. */
public final class Highest extends Items {
  private static final long serialVersionUID = 1L;

  private static final Comparator<Object> BY_BITS = (left, right) -> ((Double) left).compareTo((Double) right);

  private final int limit;
  private final boolean distinct;
  private final boolean bits;
  private transient Comparator<Object> order;

  /** {@code distinct}: each value once; {@code bits}: DOUBLEs in Java's order, in which -0.0 is less than 0.0. */
  public Highest(String spec, StructType arguments, boolean whole, int limit, boolean distinct, boolean bits) {
    super(spec, arguments, whole);
    this.limit = limit;
    this.distinct = distinct;
    this.bits = bits;
  }

  @Override
  void add(List<byte[]> items, byte[] added) {
    if (order == null) {
      order = first() instanceof StringType ? TextOrder.BY_UNITS : bits ? BY_BITS : Orderings.of(first());
    }
    Object value = first(added);
    int at = items.size();
    while (at > 0) {
      int compared = order.compare(first(items.get(at - 1)), value);
      if (compared == 0 && distinct) {
        return;
      }
      if (compared >= 0) {
        break;
      }
      at--;
    }
    if (at < limit) {
      items.add(at, added);
      if (items.size() > limit) {
        items.remove(limit);
      }
    }
  }
}
