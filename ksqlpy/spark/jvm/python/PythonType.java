package ksqlpy.python;

import com.fasterxml.jackson.databind.JsonNode;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;

/** A type of ksqlDB: how values of it go to a worker and come back; {@code ksqlpy/udfs/values.py} has the other side. */
public abstract class PythonType {
  /** Spark's type of these values. */
  public final DataType spark;

  PythonType(DataType spark) {
    this.spark = spark;
  }

  /** Appends a value that is not null. */
  abstract void put(SpecializedGetters from, int index, Frame to);

  /** Reads a value that is not null, as Spark holds it. */
  abstract Object get(Frame from);

  /** Appends a value. */
  final void write(SpecializedGetters from, int index, Frame to) {
    if (from.isNullAt(index)) {
      to.putByte(1);
    } else {
      to.putByte(0);
      put(from, index, to);
    }
  }

  /** Reads a value. */
  final Object read(Frame from) {
    return from.bytes[from.at++] == 0 ? get(from) : null;
  }

  /** The type that is described as in {@link ksqlpy.read.Type}; of a MAP also the {@code key}. */
  static PythonType of(JsonNode described) {
    String kind = described.isTextual() ? described.asText() : described.path("kind").asText();
    switch (kind) {
      case "BOOLEAN":
        return new BooleanType();
      case "INTEGER":
      case "TIME":
        return new IntType(DataTypes.IntegerType);
      case "DATE":
        return new IntType(DataTypes.DateType);
      case "BIGINT":
        return new LongType(DataTypes.LongType);
      case "TIMESTAMP":
        return new LongType(DataTypes.TimestampType);
      case "DOUBLE":
        return new DoubleType();
      case "STRING":
        return new StringType();
      case "BYTES":
        return new BytesType();
      case "DECIMAL":
        return new DecimalType(described.path("precision").asInt(), described.path("scale").asInt());
      case "ARRAY":
        return new ListType(of(described.path("item")));
      case "MAP":
        return new MapType(of(described.path("key")), of(described.path("item")));
      case "STRUCT":
        return struct(described.path("fields"));
      default:
        throw new IllegalArgumentException("there is no type " + described);
    }
  }

  private static PythonType struct(JsonNode fields) {
    PythonType[] types = new PythonType[fields.size()];
    StructField[] named = new StructField[types.length];
    for (int i = 0; i < types.length; i++) {
      types[i] = of(fields.get(i).get(1));
      named[i] = DataTypes.createStructField(fields.get(i).get(0).asText(), types[i].spark, true);
    }
    return new StructType(DataTypes.createStructType(named), types);
  }

  private static final class BooleanType extends PythonType {
    BooleanType() {
      super(DataTypes.BooleanType);
    }

    void put(SpecializedGetters from, int index, Frame to) {
      to.putByte(from.getBoolean(index) ? 1 : 0);
    }

    Object get(Frame from) {
      return Boolean.valueOf(from.bytes[from.at++] != 0);
    }
  }

  private static final class IntType extends PythonType {
    IntType(DataType spark) {
      super(spark);
    }

    void put(SpecializedGetters from, int index, Frame to) {
      to.putInt(from.getInt(index));
    }

    Object get(Frame from) {
      return Integer.valueOf(from.getInt());
    }
  }

  private static final class LongType extends PythonType {
    LongType(DataType spark) {
      super(spark);
    }

    void put(SpecializedGetters from, int index, Frame to) {
      to.putLong(from.getLong(index));
    }

    Object get(Frame from) {
      return Long.valueOf(from.getLong());
    }
  }

  private static final class DoubleType extends PythonType {
    DoubleType() {
      super(DataTypes.DoubleType);
    }

    void put(SpecializedGetters from, int index, Frame to) {
      to.putLong(Double.doubleToRawLongBits(from.getDouble(index)));
    }

    Object get(Frame from) {
      return Double.valueOf(Double.longBitsToDouble(from.getLong()));
    }
  }

  private static final class StringType extends PythonType {
    StringType() {
      super(DataTypes.StringType);
    }

    void put(SpecializedGetters from, int index, Frame to) {
      UTF8String text = from.getUTF8String(index);
      int length = text.numBytes();
      to.putInt(length);
      to.room(length);
      text.writeToMemory(to.bytes, Platform.BYTE_ARRAY_OFFSET + to.at);
      to.at += length;
    }

    Object get(Frame from) {
      return UTF8String.fromBytes(from.getBytes());
    }
  }

  private static final class BytesType extends PythonType {
    BytesType() {
      super(DataTypes.BinaryType);
    }

    void put(SpecializedGetters from, int index, Frame to) {
      to.putBytes(from.getBinary(index));
    }

    Object get(Frame from) {
      return from.getBytes();
    }
  }

  private static final class DecimalType extends PythonType {
    private final int precision;
    private final int scale;

    DecimalType(int precision, int scale) {
      super(DataTypes.createDecimalType(precision, scale));
      this.precision = precision;
      this.scale = scale;
    }

    void put(SpecializedGetters from, int index, Frame to) {
      BigDecimal value = from.getDecimal(index, precision, scale).toJavaBigDecimal();
      to.putBytes(value.toPlainString().getBytes(StandardCharsets.US_ASCII));
    }

    Object get(Frame from) {
      BigDecimal value = new BigDecimal(new String(from.getBytes(), StandardCharsets.US_ASCII));
      return Decimal.apply(value, precision, scale);
    }
  }

  private static final class ListType extends PythonType {
    private final PythonType item;

    ListType(PythonType item) {
      super(DataTypes.createArrayType(item.spark, true));
      this.item = item;
    }

    void put(SpecializedGetters from, int index, Frame to) {
      ArrayData items = from.getArray(index);
      int count = items.numElements();
      to.putInt(count);
      for (int i = 0; i < count; i++) {
        item.write(items, i, to);
      }
    }

    Object get(Frame from) {
      Object[] items = new Object[from.getCount()];
      for (int i = 0; i < items.length; i++) {
        items[i] = item.read(from);
      }
      return new GenericArrayData(items);
    }
  }

  private static final class MapType extends PythonType {
    private final PythonType key;
    private final PythonType item;

    MapType(PythonType key, PythonType item) {
      super(DataTypes.createMapType(key.spark, item.spark, true));
      this.key = key;
      this.item = item;
    }

    void put(SpecializedGetters from, int index, Frame to) {
      MapData entries = from.getMap(index);
      ArrayData keys = entries.keyArray();
      ArrayData values = entries.valueArray();
      int count = entries.numElements();
      to.putInt(count);
      for (int i = 0; i < count; i++) {
        key.write(keys, i, to);
        item.write(values, i, to);
      }
    }

    Object get(Frame from) {
      int count = from.getCount();
      Object[] keys = new Object[count];
      Object[] values = new Object[count];
      for (int i = 0; i < count; i++) {
        keys[i] = key.read(from);
        values[i] = item.read(from);
      }
      return new ArrayBasedMapData(new GenericArrayData(keys), new GenericArrayData(values));
    }
  }

  private static final class StructType extends PythonType {
    private final PythonType[] fields;

    StructType(DataType spark, PythonType[] fields) {
      super(spark);
      this.fields = fields;
    }

    void put(SpecializedGetters from, int index, Frame to) {
      InternalRow row = from.getStruct(index, fields.length);
      for (int i = 0; i < fields.length; i++) {
        fields[i].write(row, i, to);
      }
    }

    Object get(Frame from) {
      Object[] values = new Object[fields.length];
      for (int i = 0; i < fields.length; i++) {
        values[i] = fields[i].read(from);
      }
      return new GenericInternalRow(values);
    }
  }
}
