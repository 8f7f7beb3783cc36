package ksqlpy.aggregates;

import java.nio.ByteBuffer;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.connector.catalog.functions.AggregateFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * Counts each value of the group: {@code (STRUCT<value> [, STRUCT<value> gone]) → MAP<value, BIGINT>}, in the order in
 * which values first came. A NULL in place of a struct means that no value comes, or goes.
 *
 * <p>{@code limit}: no more different values are taken. {@code single}: the result is the value if there is one only,
 * and NULL otherwise. The state is plain bytes: each count, length and bytes of the value as a row of Spark. A count
 * may be below zero in the state of one input row; what the group does not hold is forgotten when it is merged.
 */
public final class Bag implements AggregateFunction<byte[], Object> {
  private static final long serialVersionUID = 1L;

  private static final byte[] NONE = new byte[0];

  private final StructType item;
  private final DataType[] inputs;
  private final int limit;
  private final boolean single;

  public Bag(StructType arguments, int limit, boolean single) {
    if (arguments.length() < 1 || arguments.length() > 2 || !(arguments.apply(0).dataType() instanceof StructType)) {
      throw new IllegalArgumentException("it takes a value in a struct, and perhaps one that is gone");
    }
    this.item = (StructType) arguments.apply(0).dataType();
    // As they are: Spark would refuse a second struct that differs in names, or in what may be null.
    this.inputs = new DataType[arguments.length()];
    for (int i = 0; i < inputs.length; i++) {
      inputs[i] = arguments.apply(i).dataType();
    }
    this.limit = limit;
    this.single = single;
  }

  public byte[] newAggregationState() {
    return NONE;
  }

  public byte[] update(byte[] state, InternalRow input) {
    Map<ByteBuffer, Long> counts = decode(state);
    if (inputs.length == 2 && !input.isNullAt(1)) {
      count(counts, bytes(input, 1), -1);
    }
    if (!input.isNullAt(0)) {
      count(counts, bytes(input, 0), 1);
    }
    return encode(counts);
  }

  public byte[] merge(byte[] left, byte[] right) {
    if (left.length == 0) {
      return right;
    }
    Map<ByteBuffer, Long> counts = decode(left);
    Map<ByteBuffer, Long> changes = decode(right);
    // What goes out makes room for what comes in.
    for (int sign = -1; sign <= 1; sign += 2) {
      for (Map.Entry<ByteBuffer, Long> change : changes.entrySet()) {
        long by = change.getValue();
        if (by * sign > 0 && (by > 0 || counts.containsKey(change.getKey()))) {
          count(counts, change.getKey().array(), by);
        }
      }
    }
    return encode(counts);
  }

  private void count(Map<ByteBuffer, Long> counts, byte[] value, long by) {
    ByteBuffer key = ByteBuffer.wrap(value);
    Long known = counts.get(key);
    if (known == null) {
      if (by < 0 || counts.size() < limit) {
        counts.put(key, by);
      }
    } else if (known + by == 0) {
      counts.remove(key);
    } else {
      counts.put(key, known + by);
    }
  }

  public Object produceResult(byte[] state) {
    Map<ByteBuffer, Long> counts = decode(state);
    Object[] keys = counts.keySet().stream().map(this::value).toArray();
    if (single) {
      return keys.length == 1 ? keys[0] : null;
    }
    return new ArrayBasedMapData(new GenericArrayData(keys), new GenericArrayData(counts.values().toArray()));
  }

  private Object value(ByteBuffer key) {
    byte[] bytes = key.array();
    UnsafeRow row = new UnsafeRow(1);
    row.pointTo(bytes, bytes.length);
    return row.get(0, item.apply(0).dataType());
  }

  private byte[] bytes(InternalRow input, int argument) {
    return ((UnsafeRow) input.getStruct(argument, 1)).getBytes();
  }

  private static Map<ByteBuffer, Long> decode(byte[] state) {
    Map<ByteBuffer, Long> counts = new LinkedHashMap<>();
    ByteBuffer from = ByteBuffer.wrap(state);
    while (from.hasRemaining()) {
      long count = from.getLong();
      byte[] bytes = new byte[from.getInt()];
      from.get(bytes);
      counts.put(ByteBuffer.wrap(bytes), count);
    }
    return counts;
  }

  private static byte[] encode(Map<ByteBuffer, Long> counts) {
    int length = 0;
    for (ByteBuffer value : counts.keySet()) {
      length += Long.BYTES + Integer.BYTES + value.capacity();
    }
    ByteBuffer to = ByteBuffer.allocate(length);
    counts.forEach((value, count) -> to.putLong(count).putInt(value.capacity()).put(value.array()));
    return to.array();
  }

  public DataType[] inputTypes() {
    return inputs;
  }

  public DataType resultType() {
    DataType value = item.apply(0).dataType();
    return single ? value : DataTypes.createMapType(value, DataTypes.LongType, false);
  }

  public boolean isResultNullable() {
    return single;
  }

  public String name() {
    return "bag";
  }

  public String canonicalName() {
    return "ksqlpy.bag." + limit + "." + single + "." + item.catalogString();
  }
}
