package ksqlpy.once;

import java.io.IOException;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;

/** Asks a {@link Tail}, see its findInGroup: {@code (group BIGINT, partition INT, offset BIGINT) → BIGINT}, not null. */
public final class TailPlace implements ScalarFunction<Long> {
  private static final long serialVersionUID = 1L;

  private final String tail;
  private transient volatile Tail read;

  public TailPlace(String tail) {
    this.tail = tail;
  }

  public long invoke(long group, int partition, long offset) throws IOException {
    Tail known = read;
    if (known == null) {
      known = Tail.of(tail);
      read = known;
    }
    return known.findInGroup(group, partition, offset);
  }

  public DataType[] inputTypes() {
    return new DataType[] {DataTypes.LongType, DataTypes.IntegerType, DataTypes.LongType};
  }

  public DataType resultType() {
    return DataTypes.LongType;
  }

  public boolean isResultNullable() {
    return false;
  }

  public String name() {
    return "tail_place";
  }

  public String canonicalName() {
    return "ksqlpy.group." + tail;
  }
}
