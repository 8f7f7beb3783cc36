package ksqlpy;

import java.nio.ByteBuffer;
import java.util.Arrays;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;

/**
 * The header for {@link SinkInterceptor} of a result, big-endian and in one piece: {@code (rowtime BIGINT, place INT,
 * offset BIGINT, window BIGINT) → BINARY}, with up to two more BIGINT for what was seen of joined tables; not null. Every
 * result has one, so it is worth a function: Spark makes an array of each part.
 */
public final class HeaderBytes implements ScalarFunction<byte[]> {
  private static final int LENGTH = 3 * Long.BYTES + Integer.BYTES;

  private final int seen;

  HeaderBytes(int seen) {
    this.seen = seen;
  }

  public byte[] invoke(long rowtime, int place, long offset, long window) {
    return begin(rowtime, place, offset, window, 0).array();
  }

  public byte[] invoke(long rowtime, int place, long offset, long window, long first) {
    return begin(rowtime, place, offset, window, 1).putLong(first).array();
  }

  public byte[] invoke(long rowtime, int place, long offset, long window, long first, long second) {
    return begin(rowtime, place, offset, window, 2).putLong(first).putLong(second).array();
  }

  private static ByteBuffer begin(long rowtime, int place, long offset, long window, int seen) {
    ByteBuffer bytes = ByteBuffer.allocate(LENGTH + seen * Long.BYTES);
    return bytes.putLong(rowtime).putInt(place).putLong(offset).putLong(window);
  }

  public DataType[] inputTypes() {
    DataType[] types = new DataType[4 + seen];
    Arrays.fill(types, DataTypes.LongType);
    types[1] = DataTypes.IntegerType;
    return types;
  }

  public DataType resultType() {
    return DataTypes.BinaryType;
  }

  public boolean isResultNullable() {
    return false;
  }

  public String name() {
    return "header_bytes";
  }

  public String canonicalName() {
    return "ksqlpy.header_bytes";
  }
}
