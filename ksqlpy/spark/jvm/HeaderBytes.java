package ksqlpy;

import java.nio.ByteBuffer;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;

/**
 * The header for {@link SinkInterceptor} of a result without joins and HAVING, big-endian and in one piece:
 * {@code (rowtime BIGINT, place INT, offset BIGINT, window BIGINT) → BINARY}, not null. Every result has one, so it is
 * worth a function: Spark makes an array of each part.
 */
public final class HeaderBytes implements ScalarFunction<byte[]> {
  private static final int LENGTH = 3 * Long.BYTES + Integer.BYTES;

  public byte[] invoke(long rowtime, int place, long offset, long window) {
    byte[] bytes = new byte[LENGTH];
    ByteBuffer.wrap(bytes).putLong(rowtime).putInt(place).putLong(offset).putLong(window);
    return bytes;
  }

  public DataType[] inputTypes() {
    return new DataType[] {DataTypes.LongType, DataTypes.IntegerType, DataTypes.LongType, DataTypes.LongType};
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
