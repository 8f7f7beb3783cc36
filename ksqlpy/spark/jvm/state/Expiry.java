package ksqlpy.state;

import java.util.Arrays;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.ShortType;
import org.apache.spark.sql.types.StructType;

/**
 * Which values of a state are expired, so that their keys can go.
 *
 * <p>A plan says by cells of type TINYINT, which nothing else in a plan has, whether a key is needed: 1 for yes, 0 for
 * no. A value with a 0 and no 1 is expired: nothing is lost when it is gone, since a key without state counts like it.
 *
 * <p>A cell of type SMALLINT, which nothing else has either, says with a number that something was changed since the
 * state was read, with null that rows only asked, as a stream's rows ask its tables: nothing is written then.
 */
public final class Expiry {
  private final int[] needs;
  private final int change;

  private Expiry(int[] needs, int change) {
    this.needs = needs;
    this.change = change;
  }

  /** For values of this type. */
  public static Expiry of(StructType value) {
    int[] found = new int[value.length()];
    int count = 0;
    int change = -1;
    for (int i = 0; i < found.length; i++) {
      if (value.fields()[i].dataType() instanceof ByteType) {
        found[count++] = i;
      } else if (value.fields()[i].dataType() instanceof ShortType) {
        change = i;
      }
    }
    return new Expiry(Arrays.copyOf(found, count), change);
  }

  /** Whether values of this type never expire and are always written. */
  public boolean isNever() {
    return needs.length == 0 && change < 0;
  }

  /** Whether no group needs the value any more. */
  public boolean isExpired(UnsafeRow value) {
    boolean expired = false;
    for (int i = 0; i < needs.length; i++) {
      if (!value.isNullAt(needs[i])) {
        if (value.getByte(needs[i]) != 0) {
          return false;
        }
        expired = true;
      }
    }
    return expired;
  }

  /** Whether the value is to be written; takes the mark of its change off it. */
  public boolean isChanged(UnsafeRow value) {
    if (change < 0) {
      return true;
    }
    if (value.isNullAt(change)) {
      return false;
    }
    value.setNullAt(change);
    return true;
  }
}
