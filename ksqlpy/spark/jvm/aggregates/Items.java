package ksqlpy.aggregates;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.connector.catalog.functions.AggregateFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * Base of the aggregates that keep items of the group: {@code (STRUCT item [, STRUCT gone]) → ARRAY}.
 *
 * <p>An item is a struct; a NULL in its place means that none comes. {@code gone}, if it is given, goes out of the group
 * before the item comes in. The result has the first field of each kept item, or, of {@code whole} items, all fields.
 *
 * <p>Items are held as the bytes of Spark's rows, in which equal values are equal. Spark makes a state of each input
 * row and merges it into the state of the group, so the state of a row also says what is gone; what the group does not
 * hold is forgotten then. A state is plain bytes, for which Spark needs no class of ours: INT number gone, INT number
 * kept, then each item with its length ahead.
 */
public abstract class Items implements AggregateFunction<byte[], Object> {
  private static final long serialVersionUID = 1L;

  private static final byte[] NONE = new byte[0];

  private final StructType item;
  private final DataType[] inputs;
  private final boolean whole;
  private final String spec;

  /** {@code arguments}: what Spark found; throws IllegalArgumentException if it is not what the function takes. */
  Items(String spec, StructType arguments, boolean whole) {
    if (arguments.length() < 1 || arguments.length() > 2 || !(arguments.apply(0).dataType() instanceof StructType)) {
      throw new IllegalArgumentException("it takes an item, a struct, and perhaps one that is gone");
    }
    this.spec = spec;
    this.item = (StructType) arguments.apply(0).dataType();
    // As they are: Spark would refuse a second struct that differs in names, or in what may be null.
    this.inputs = new DataType[arguments.length()];
    for (int i = 0; i < inputs.length; i++) {
      inputs[i] = arguments.apply(i).dataType();
    }
    this.whole = whole;
  }

  /** Takes an item in. */
  abstract void add(List<byte[]> items, byte[] added);

  /** Takes the last item out that is equal; returns whether there was one. */
  boolean remove(List<byte[]> items, byte[] gone) {
    for (int i = items.size() - 1; i >= 0; i--) {
      if (Arrays.equals(items.get(i), gone)) {
        items.remove(i);
        return true;
      }
    }
    return false;
  }

  /** The type of an item's first field. */
  DataType first() {
    return item.apply(0).dataType();
  }

  /** The first field of an item. */
  Object first(byte[] bytes) {
    return row(bytes).get(0, first());
  }

  private UnsafeRow row(byte[] bytes) {
    UnsafeRow row = new UnsafeRow(item.length());
    row.pointTo(bytes, bytes.length);
    return row;
  }

  public byte[] newAggregationState() {
    return NONE;
  }

  public byte[] update(byte[] state, InternalRow input) {
    List<byte[]> gone = new ArrayList<>();
    List<byte[]> kept = new ArrayList<>();
    decode(state, gone, kept);
    if (inputs.length == 2 && !input.isNullAt(1)) {
      byte[] out = bytes(input, 1);
      if (!remove(kept, out)) {
        gone.add(out);
      }
    }
    if (!input.isNullAt(0)) {
      add(kept, bytes(input, 0));
    }
    return encode(gone, kept);
  }

  public byte[] merge(byte[] left, byte[] right) {
    if (right.length == 0) {
      return left;
    }
    if (left.length == 0) {
      return right;
    }
    List<byte[]> kept = new ArrayList<>();
    decode(left, new ArrayList<>(), kept);
    List<byte[]> gone = new ArrayList<>();
    List<byte[]> added = new ArrayList<>();
    decode(right, gone, added);
    for (byte[] each : gone) {
      remove(kept, each);
    }
    for (byte[] each : added) {
      add(kept, each);
    }
    return encode(List.of(), kept);
  }

  public Object produceResult(byte[] state) {
    List<byte[]> kept = new ArrayList<>();
    decode(state, new ArrayList<>(), kept);
    Object[] values = new Object[kept.size()];
    for (int i = 0; i < values.length; i++) {
      values[i] = whole ? row(kept.get(i)) : first(kept.get(i));
    }
    return new GenericArrayData(values);
  }

  private byte[] bytes(InternalRow input, int argument) {
    return ((UnsafeRow) input.getStruct(argument, item.length())).getBytes();
  }

  private static void decode(byte[] state, List<byte[]> gone, List<byte[]> kept) {
    if (state.length == 0) {
      return;
    }
    ByteBuffer from = ByteBuffer.wrap(state);
    int numberGone = from.getInt();
    int numberKept = from.getInt();
    for (int i = 0; i < numberGone + numberKept; i++) {
      byte[] bytes = new byte[from.getInt()];
      from.get(bytes);
      (i < numberGone ? gone : kept).add(bytes);
    }
  }

  private static byte[] encode(List<byte[]> gone, List<byte[]> kept) {
    ByteBuffer to = ByteBuffer.allocate(2 * Integer.BYTES + size(gone) + size(kept));
    to.putInt(gone.size()).putInt(kept.size());
    write(gone, to);
    write(kept, to);
    return to.array();
  }

  private static int size(List<byte[]> items) {
    int size = 0;
    for (byte[] bytes : items) {
      size += Integer.BYTES + bytes.length;
    }
    return size;
  }

  private static void write(List<byte[]> items, ByteBuffer to) {
    for (byte[] bytes : items) {
      to.putInt(bytes.length).put(bytes);
    }
  }

  public DataType[] inputTypes() {
    return inputs;
  }

  public DataType resultType() {
    return DataTypes.createArrayType(whole ? item : first(), true);
  }

  public boolean isResultNullable() {
    return false;
  }

  public String name() {
    return "items";
  }

  public String canonicalName() {
    return "ksqlpy." + spec + item.catalogString();
  }
}
