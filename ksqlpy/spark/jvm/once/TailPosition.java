package ksqlpy.once;

import java.io.IOException;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;

/** Asks a {@link Tail}, see {@link Tail#find}: {@code (place INT, offset BIGINT, window BIGINT) → BIGINT}, not null. */
public final class TailPosition implements ScalarFunction<Long> {
  private static final long serialVersionUID = 1L;

  private final String tail;
  private transient volatile Tail read;

  public TailPosition(String tail) {
    this.tail = tail;
  }

  public long invoke(int place, long offset, long window) throws IOException {
    Tail known = read;
    if (known == null) {
      known = Tail.of(tail);
      read = known;
    }
    return known.find(place, offset, window);
  }

  public DataType[] inputTypes() {
    return new DataType[] {DataTypes.IntegerType, DataTypes.LongType, DataTypes.LongType};
  }

  public DataType resultType() {
    return DataTypes.LongType;
  }

  public boolean isResultNullable() {
    return false;
  }

  public String name() {
    return "tail_position";
  }

  public String canonicalName() {
    return "ksqlpy.tail." + tail;
  }
}
