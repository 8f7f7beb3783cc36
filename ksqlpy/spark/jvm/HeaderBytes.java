package ksqlpy;

import java.nio.ByteBuffer;
import java.util.Arrays;
import org.apache.kafka.common.utils.ByteUtils;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;

/**
 * The header for {@link SinkInterceptor} of a result: {@code (rowtime BIGINT, place INT, offset BIGINT, window BIGINT, and
 * for each joined table seen BIGINT) → BINARY}, not null. The time has 8 bytes, big-endian, all others are varlongs. Every
 * result has one, so it is worth a function, and few bytes.
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
    ByteBuffer bytes = begin(rowtime, place, offset, window, ByteUtils.sizeOfVarlong(first));
    ByteUtils.writeVarlong(first, bytes);
    return bytes.array();
  }

  public byte[] invoke(long rowtime, int place, long offset, long window, long first, long second) {
    int length = ByteUtils.sizeOfVarlong(first) + ByteUtils.sizeOfVarlong(second);
    ByteBuffer bytes = begin(rowtime, place, offset, window, length);
    ByteUtils.writeVarlong(first, bytes);
    ByteUtils.writeVarlong(second, bytes);
    return bytes.array();
  }

  /** With more tables than the methods above have parameters. */
  @Override
  public byte[] produceResult(InternalRow input) {
    int length = 0;
    for (int i = 4; i < 4 + seen; i++) {
      length += ByteUtils.sizeOfVarlong(input.getLong(i));
    }
    ByteBuffer bytes = begin(input.getLong(0), input.getInt(1), input.getLong(2), input.getLong(3), length);
    for (int i = 4; i < 4 + seen; i++) {
      ByteUtils.writeVarlong(input.getLong(i), bytes);
    }
    return bytes.array();
  }

  private static ByteBuffer begin(long rowtime, int place, long offset, long window, int more) {
    int length = ByteUtils.sizeOfVarlong(place) + ByteUtils.sizeOfVarlong(offset) + ByteUtils.sizeOfVarlong(window);
    ByteBuffer bytes = ByteBuffer.allocate(Long.BYTES + length + more).putLong(rowtime);
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
