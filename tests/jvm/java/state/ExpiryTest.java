package ksqlpy.state;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

public final class ExpiryTest {
  /** Two cells that say whether a key is needed, one that says whether something was changed. */
  public static final StructType VALUE =
      new StructType().add("a", DataTypes.ByteType).add("b", DataTypes.ByteType).add("c", DataTypes.ShortType);

  public static UnsafeRow value(Integer a, Integer b, Integer changed) {
    UnsafeRow row = UnsafeRow.createFromByteArray(32, 3);
    Integer[] cells = {a, b, changed};
    for (int i = 0; i < cells.length; i++) {
      if (cells[i] == null) {
        row.setNullAt(i);
      } else if (i < 2) {
        row.setByte(i, cells[i].byteValue());
      } else {
        row.setShort(i, cells[i].shortValue());
      }
    }
    return row;
  }

  @ParameterizedTest
  @CsvSource({"0,,true", ",0,true", "0,0,true", "1,,false", "0,1,false", "1,0,false", ",,false"})
  void aZeroAndNoOneIsExpired(Integer a, Integer b, boolean expired) {
    assertEquals(expired, Expiry.of(VALUE).isExpired(value(a, b, null)));
  }

  @Test
  void aNumberSaysThatSomethingChanged() {
    UnsafeRow changed = value(1, null, 3);
    assertTrue(Expiry.of(VALUE).isChanged(changed));
    assertTrue(changed.isNullAt(2));
    assertFalse(Expiry.of(VALUE).isChanged(value(1, null, null)));
  }

  @Test
  void otherTypesSayNothing() {
    StructType other = new StructType().add("a", DataTypes.IntegerType).add("b", DataTypes.LongType);
    assertTrue(Expiry.of(other).isNever());
    assertTrue(Expiry.of(new StructType()).isNever());
    assertFalse(Expiry.of(VALUE).isNever());
    assertFalse(Expiry.of(new StructType().add("c", DataTypes.ShortType)).isNever());
  }
}
