package ksqlpy.functions;

import java.util.HashMap;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;

/**
 * The stream time of a source partition at each of its records, the largest of their times so far: {@code (place INT,
 * time BIGINT) → BIGINT}, not null. A partition must be read by one task, from its first record on, as a micro-batch
 * does. It says that it is not deterministic, so that Spark evaluates it once a row, and where it stands.
 */
public final class Clock implements ScalarFunction<Long> {
  private static final long serialVersionUID = 1L;

  private transient HashMap<Integer, long[]> times;

  public long invoke(int place, long time) {
    if (times == null) {
      times = new HashMap<>();
    }
    long[] known = times.get(Integer.valueOf(place));
    if (known == null) {
      known = new long[] {time};
      times.put(Integer.valueOf(place), known);
    }
    known[0] = Math.max(known[0], time);
    return known[0];
  }

  public DataType[] inputTypes() {
    return new DataType[] {DataTypes.IntegerType, DataTypes.LongType};
  }

  public DataType resultType() {
    return DataTypes.LongType;
  }

  public boolean isResultNullable() {
    return false;
  }

  public boolean isDeterministic() {
    return false;
  }

  public String name() {
    return "stream_time";
  }

  public String canonicalName() {
    return "ksqlpy.stream_time";
  }
}
