package ksqlpy.sink;

import java.nio.ByteBuffer;
import java.util.Arrays;
import ksqlpy.once.Coordinates;
import ksqlpy.tasks.Attempts;
import org.apache.kafka.common.utils.ByteUtils;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * The value of a result with all behind it that Spark's Kafka sink has no column for; {@link SinkInterceptor} takes it
 * apart: {@code (rowtime BIGINT, STRUCT<value BINARY, group BINARY>)}, and for coordinates {@code (…, place INT, offset
 * BIGINT, window BIGINT, and for each joined table seen BIGINT) → BINARY}, not null.
 *
 * <p>The value, then rowtime in 8 bytes, the coordinates from place on as varlongs, the bytes of group, and in 4 bytes
 * how many there are between value and these; less than 0, which is {@link #NONE} added, if the value is null. Numbers
 * are big-endian. A header would do as well, but for Spark and Kafka it is several objects a record. What may be null is
 * in a struct, since Spark passes the value of the row before for a null that CASE makes.
 */
public final class SinkValue implements ScalarFunction<byte[]> {
  private static final long serialVersionUID = 1L;

  /** Added to the length where the value is null. */
  static final int NONE = Integer.MIN_VALUE;

  private static final int FIRST = 2; // of the arguments with coordinates
  private final int arguments;
  private transient boolean checked;

  /** Throws UnsupportedOperationException if there are no such arguments. */
  public SinkValue(int arguments) {
    if (arguments != FIRST && arguments < FIRST + 3) {
      throw new UnsupportedOperationException(
          "it takes rowtime and value, and then place, offset, window and offsets of joined tables");
    }
    this.arguments = arguments;
  }

  /** The rowtime in a value. */
  static long rowtime(byte[] made) {
    ByteBuffer bytes = ByteBuffer.wrap(made);
    int end = made.length - Integer.BYTES;
    int length = bytes.getInt(end);
    return bytes.getLong(end - (length < 0 ? length - NONE : length));
  }

  public byte[] invoke(long rowtime, InternalRow given) {
    byte[] value = at(given, 0);
    return end(begin(rowtime, value, 0), value);
  }

  public byte[] invoke(long rowtime, InternalRow given, int place, long offset, long window) {
    byte[] value = at(given, 0);
    byte[] group = at(given, 1);
    return end(coordinates(rowtime, value, group, place, offset, window, 0), value, group);
  }

  public byte[] invoke(long rowtime, InternalRow given, int place, long offset, long window, long first) {
    byte[] value = at(given, 0);
    byte[] group = at(given, 1);
    int more = ByteUtils.sizeOfVarlong(first);
    ByteBuffer bytes = coordinates(rowtime, value, group, place, offset, window, more);
    ByteUtils.writeVarlong(first, bytes);
    return end(bytes, value, group);
  }

  /** With more tables than the methods above have parameters. */
  @Override
  public byte[] produceResult(InternalRow input) {
    InternalRow given = input.getStruct(1, 2);
    if (arguments == FIRST) {
      return invoke(input.getLong(0), given);
    }
    byte[] value = at(given, 0);
    byte[] group = at(given, 1);
    int more = 0;
    for (int i = FIRST + 3; i < arguments; i++) {
      more += ByteUtils.sizeOfVarlong(input.getLong(i));
    }
    ByteBuffer bytes =
        coordinates(
            input.getLong(0),
            value,
            group,
            input.getInt(FIRST),
            input.getLong(FIRST + 1),
            input.getLong(FIRST + 2),
            more);
    for (int i = FIRST + 3; i < arguments; i++) {
      ByteUtils.writeVarlong(input.getLong(i), bytes);
    }
    return end(bytes, value, group);
  }

  private static byte[] at(InternalRow given, int i) {
    return given.isNullAt(i) ? null : given.getBinary(i);
  }

  /** All results come by here: none of a second attempt. */
  private void check() {
    if (!checked) {
      Attempts.first();
      Writers.admit();
      checked = true;
    }
  }

  private ByteBuffer begin(long rowtime, byte[] value, int more) {
    check();
    int length = value == null ? 0 : value.length;
    ByteBuffer bytes = ByteBuffer.allocate(length + Long.BYTES + more + Integer.BYTES);
    if (value != null) {
      bytes.put(value);
    }
    return bytes.putLong(rowtime);
  }

  private ByteBuffer coordinates(
      long rowtime, byte[] value, byte[] group, int place, long offset, long window, int more) {
    int length = Coordinates.size(place, offset, window) + more + (group == null ? 0 : group.length);
    ByteBuffer bytes = begin(rowtime, value, length);
    Coordinates.write(bytes, place, offset, window);
    return bytes;
  }

  private static byte[] end(ByteBuffer bytes, byte[] value, byte[] group) {
    return end(group == null ? bytes : bytes.put(group), value);
  }

  private static byte[] end(ByteBuffer bytes, byte[] value) {
    int length = bytes.position();
    return bytes.putInt(value == null ? length + NONE : length - value.length).array();
  }

  public DataType[] inputTypes() {
    DataType[] types = new DataType[arguments];
    Arrays.fill(types, DataTypes.LongType);
    types[1] = new StructType().add("value", DataTypes.BinaryType).add("group", DataTypes.BinaryType);
    if (arguments > FIRST) {
      types[FIRST] = DataTypes.IntegerType;
    }
    return types;
  }

  public DataType resultType() {
    return DataTypes.BinaryType;
  }

  public boolean isResultNullable() {
    return false;
  }

  public String name() {
    return "sink_value";
  }

  public String canonicalName() {
    return "ksqlpy.sink_value";
  }
}
