package ksqlpy;

import java.nio.ByteBuffer;
import java.util.Arrays;
import org.apache.kafka.common.utils.ByteUtils;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;

/**
 * The header for {@link SinkInterceptor} of a result: {@code (rowtime BIGINT, place INT, offset BIGINT, window BIGINT) →
 * BINARY}, with up to two more BIGINT for what was seen of joined tables; not null. The time and what was seen are of 8
 * bytes each, big-endian, the others varlongs. Every result has one, so it is worth a function, and few bytes.
 */
public final class HeaderBytes implements ScalarFunction<byte[]> {
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
    int length = ByteUtils.sizeOfVarlong(place) + ByteUtils.sizeOfVarlong(offset) + ByteUtils.sizeOfVarlong(window);
    ByteBuffer bytes = ByteBuffer.allocate((1 + seen) * Long.BYTES + length).putLong(rowtime);
    ByteUtils.writeVarlong(place, bytes);
    ByteUtils.writeVarlong(offset, bytes);
    ByteUtils.writeVarlong(window, bytes);
    return bytes;
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
