package ksqlpy.write;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import ksqlpy.internals.Cells;
import ksqlpy.read.Type;
import org.apache.avro.io.BinaryEncoder;
import org.apache.avro.io.EncoderFactory;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampType;

/**
 * Writes a row by the schema that {@code ksqlpy/formats/avroschema.py} makes of its columns, behind a zero byte and the
 * schema's id: {@code (STRUCT of the columns) → BINARY}. A bare value that is null gives null.
 *
 * <p>The schema follows from the types: all but a bare value is a union of null and its type, a map an array of
 * entries.
 */
public final class AvroWriter implements ScalarFunction<byte[]> {
  private static final long serialVersionUID = 1L;

  private static final long MICROS = 1000L;

  private static final ObjectMapper MAPPER = new ObjectMapper();

  private final String spec;
  private final int schema;
  private final boolean bare;
  private final StructType columns;
  private transient volatile Value[] values; // made again where a task runs

  /** {@code spec}: {@code {"write":"AVRO","schema":7,"bare":false,"type":…}}; the type as readers have it. */
  public AvroWriter(String spec, StructType columns) throws IOException {
    JsonNode described = MAPPER.readTree(spec);
    this.spec = spec;
    this.schema = described.path("schema").asInt();
    this.bare = described.path("bare").asBoolean();
    if (bare && columns.length() != 1) {
      throw new IllegalArgumentException("one value stands bare, not " + columns.length());
    }
    this.columns = columns;
    this.values = values();
  }

  /** Writes a value that is not null. */
  private interface Value {
    void write(Cells from, int at, BinaryEncoder out) throws IOException;
  }

  private Value[] values() throws IOException {
    Type type = new Type(MAPPER.readTree(spec).get("type"));
    return bare ? new Value[] {value(columns.fields()[0].dataType(), type)} : values(columns, type);
  }

  private static Value[] values(StructType given, Type type) {
    StructField[] fields = given.fields();
    Value[] made = new Value[fields.length];
    for (int i = 0; i < made.length; i++) {
      made[i] = value(fields[i].dataType(), type.fields[i]);
    }
    return made;
  }

  /** {@code type}: what Spark gives; {@code declared}: what the schema has, which has at least as many digits. */
  private static Value value(DataType type, Type declared) {
    if (type instanceof IntegerType || type instanceof DateType) {
      return (from, at, out) -> out.writeInt(from.whole(at));
    }
    if (type instanceof LongType) {
      return (from, at, out) -> out.writeLong(from.large(at));
    }
    if (type instanceof TimestampType) {
      return (from, at, out) -> out.writeLong(Math.floorDiv(from.large(at), MICROS));
    }
    if (type instanceof DoubleType) {
      return (from, at, out) -> {
        double number = from.real(at);
        out.writeDouble(Double.isNaN(number) ? Double.NaN : number); // always the same NaN
      };
    }
    if (type instanceof BooleanType) {
      return (from, at, out) -> out.writeBoolean(from.bool(at));
    }
    if (type instanceof StringType) {
      return (from, at, out) -> out.writeBytes(from.text(at));
    }
    if (type instanceof BinaryType) {
      return (from, at, out) -> out.writeBytes(from.binary(at));
    }
    if (type instanceof DecimalType) {
      int precision = ((DecimalType) type).precision();
      int scale = ((DecimalType) type).scale();
      int wanted = declared.scale;
      if (wanted < scale) {
        throw new IllegalArgumentException("a " + type.catalogString() + " loses digits as " + declared);
      }
      return (from, at, out) -> {
        BigDecimal number = from.decimal(at, precision, scale).toJavaBigDecimal().setScale(wanted);
        out.writeBytes(number.unscaledValue().toByteArray());
      };
    }
    if (type instanceof ArrayType) {
      Value item = value(((ArrayType) type).elementType(), declared.item);
      return (from, at, out) -> array(from.items(at), item, out);
    }
    if (type instanceof MapType) {
      Value item = value(((MapType) type).valueType(), declared.item);
      return (from, at, out) -> map(from.keys(at), from.values(at), item, out);
    }
    if (type instanceof StructType) {
      Value[] fields = values((StructType) type, declared);
      return (from, at, out) -> record(from.fields(at, fields.length), fields, out);
    }
    throw new IllegalArgumentException("AVRO does not carry " + type.catalogString());
  }

  private static void record(Cells row, Value[] fields, BinaryEncoder out) throws IOException {
    for (int i = 0; i < fields.length; i++) {
      nullable(row, i, fields[i], out);
    }
  }

  private static void nullable(Cells from, int at, Value value, BinaryEncoder out) throws IOException {
    if (from.isNull(at)) {
      out.writeIndex(0);
    } else {
      out.writeIndex(1);
      value.write(from, at, out);
    }
  }

  private static void array(Cells items, Value item, BinaryEncoder out) throws IOException {
    int count = items.size();
    out.writeArrayStart();
    out.setItemCount(count);
    for (int i = 0; i < count; i++) {
      out.startItem();
      nullable(items, i, item, out);
    }
    out.writeArrayEnd();
  }

  private static void map(Cells keys, Cells items, Value item, BinaryEncoder out) throws IOException {
    int count = keys.size();
    out.writeArrayStart();
    out.setItemCount(count);
    for (int i = 0; i < count; i++) {
      out.startItem();
      out.writeIndex(1);
      out.writeBytes(keys.text(i));
      nullable(items, i, item, out);
    }
    out.writeArrayEnd();
  }

  public byte[] invoke(InternalRow row) {
    if (bare && row.isNullAt(0)) {
      return null;
    }
    ByteArrayOutputStream bytes = new ByteArrayOutputStream(64);
    bytes.write(0);
    bytes.writeBytes(ByteBuffer.allocate(Integer.BYTES).putInt(schema).array());
    BinaryEncoder out = EncoderFactory.get().directBinaryEncoder(bytes, null);
    try {
      Value[] known = values;
      if (known == null) {
        known = values();
        values = known;
      }
      if (bare) {
        known[0].write(Cells.of(row), 0, out);
      } else {
        record(Cells.of(row), known, out);
      }
      out.flush();
    } catch (IOException e) {
      throw new IllegalStateException(e); // into memory
    }
    return bytes.toByteArray();
  }

  public DataType[] inputTypes() {
    return new DataType[] {columns};
  }

  public DataType resultType() {
    return DataTypes.BinaryType;
  }

  public String name() {
    return "write_avro";
  }

  public String canonicalName() {
    return "ksqlpy." + spec + columns.catalogString();
  }

  public boolean equals(Object other) {
    return other instanceof AvroWriter && ((AvroWriter) other).canonicalName().equals(canonicalName());
  }

  public int hashCode() {
    return canonicalName().hashCode();
  }
}
