package ksqlpy.internals;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;

/** COUNT and MAX are of the kind that Spark compiles, COLLECT_LIST keeps a Java object between its rows. */
final class AggregationTest {
  private static final StructType INPUT = StructType.fromDDL("__ts BIGINT, v INT");

  private final Rows rows = new Rows(DataTypes.LongType, DataTypes.IntegerType);
  private final Aggregation.Working working = States.aggregation(INPUT, "v").start(2);

  private void check(long count, Long time, int... values) {
    UnsafeRow result = working.result();
    assertEquals(count, result.getLong(0));
    assertEquals(time, result.isNullAt(1) ? null : (Long) result.getLong(1));
    assertArrayEquals(values, result.getArray(2).toIntArray());
  }

  @Test
  void rowsChangeTheBuffer() {
    working.begin();
    check(0, null);
    working.update(rows.of(5L, 1));
    working.update(rows.of(3L, 2));
    check(2, 5L, 1, 2);
    working.begin();
    check(0, null);
  }

  @Test
  void aStoredBufferIsMergedBehindWhatIsThere() {
    working.begin();
    working.update(rows.of(5L, 1));
    UnsafeRow first = working.store(70, 71).copy();
    assertEquals(working.width(), first.numFields());
    assertEquals(70, first.getLong(0));
    assertEquals(71, first.getLong(1));
    working.begin();
    working.update(rows.of(9L, 2));
    UnsafeRow second = working.store(72, 73).copy();
    working.begin();
    working.merge(first);
    working.merge(second);
    working.update(rows.of(1L, 3));
    check(3, 9L, 1, 2, 3);
    UnsafeRow whole = working.store(0, 0).copy();
    working.begin();
    working.merge(whole);
    check(3, 9L, 1, 2, 3);
  }

  @Test
  void anEmptyBufferIsStoredToo() {
    working.begin();
    UnsafeRow empty = working.store(0, 0).copy();
    working.begin();
    working.merge(empty);
    check(0, null);
    assertTrue(working.result().isNullAt(1));
  }
}
