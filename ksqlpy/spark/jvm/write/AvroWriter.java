package ksqlpy.write;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.TextNode;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import ksqlpy.internals.Cells;
import ksqlpy.read.Type;
import org.apache.avro.NameValidator;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericDatumWriter;
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
 * Writes a row by the schema in the specification, behind a zero byte and the schema's id: {@code (STRUCT of the columns)
 * → BINARY}. A bare value that is null gives null.
 *
 * <p>Columns are written as the fields of their names. A field without a column has its default, else null; so has one
 * that cannot be null where its column is.
 */
public final class AvroWriter implements ScalarFunction<byte[]> {
  private static final long serialVersionUID = 1L;

  private static final long MICROS = 1000L;

  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final Type KEY = new Type(TextNode.valueOf("STRING"));

  private final String spec;
  private final int schema;
  private final boolean bare;
  private final StructType columns;
  private transient volatile Value whole; // made again where a task runs

  /**
   * {@code spec}: {@code {"write":"AVRO","schema":7,"text":…,"references":[…],"bare":false,"type":…}}; the type as
   * readers have it.
   */
  public AvroWriter(String spec, StructType columns) throws IOException {
    JsonNode described = MAPPER.readTree(spec);
    this.spec = spec;
    this.schema = described.path("schema").asInt();
    this.bare = described.path("bare").asBoolean();
    if (bare && columns.length() != 1) {
      throw new IllegalArgumentException("one value stands bare, not " + columns.length());
    }
    this.columns = columns;
    this.whole = whole();
  }

  /** Writes a value that may be null. */
  private interface Value {
    void write(Cells from, int at, BinaryEncoder out) throws IOException;
  }

  private Value whole() throws IOException {
    JsonNode described = MAPPER.readTree(spec);
    Schema.Parser parser = new Schema.Parser(NameValidator.NO_VALIDATION).setValidateDefaults(false);
    for (JsonNode reference : described.path("references")) {
      parser.parse(reference.asText());
    }
    Schema parsed = parser.parse(described.get("text").asText());
    Type type = new Type(described.get("type"));
    if (bare) {
      return value(columns.fields()[0].dataType(), type, parsed, "the value");
    }
    return record(columns, type, parsed, "");
  }

  // ---------------------------------------------------------------- by the schema

  /** {@code given}: what Spark gives; {@code declared}: the column's type, which has at least as many digits. */
  private static Value value(DataType given, Type declared, Schema schema, String place) {
    if (schema.getType() != Schema.Type.UNION) {
      Value content = content(given, declared, schema, place);
      return (from, at, out) -> {
        if (from.isNull(at)) {
          throw new IllegalStateException(place + " is null, which the schema of the records does not allow");
        }
        content.write(from, at, out);
      };
    }
    int none = schema.getTypes().indexOf(Schema.create(Schema.Type.NULL));
    if (none < 0 || schema.getTypes().size() != 2) {
      throw refused(given, schema, place);
    }
    Value content = content(given, declared, schema.getTypes().get(1 - none), place);
    return (from, at, out) -> {
      if (from.isNull(at)) {
        out.writeIndex(none);
      } else {
        out.writeIndex(1 - none);
        content.write(from, at, out);
      }
    };
  }

  private static IllegalArgumentException refused(DataType given, Schema schema, String place) {
    return new IllegalArgumentException(
        place + ": a " + given.catalogString() + " is no " + schema.getType().getName() + " of Avro");
  }

  /** Writes a value that is not null. */
  private static Value content(DataType given, Type declared, Schema schema, String place) {
    switch (schema.getType()) {
      case BOOLEAN:
        expect(given instanceof BooleanType, given, schema, place);
        return (from, at, out) -> out.writeBoolean(from.bool(at));
      case INT:
        expect(given instanceof IntegerType || given instanceof DateType, given, schema, place);
        return (from, at, out) -> out.writeInt(from.whole(at));
      case LONG:
        return large(given, schema, place);
      case FLOAT:
        expect(given instanceof DoubleType, given, schema, place);
        return (from, at, out) -> out.writeFloat((float) from.real(at));
      case DOUBLE:
        expect(given instanceof DoubleType, given, schema, place);
        return (from, at, out) -> {
          double number = from.real(at);
          out.writeDouble(Double.isNaN(number) ? Double.NaN : number); // always the same NaN
        };
      case STRING:
        expect(given instanceof StringType, given, schema, place);
        return (from, at, out) -> out.writeBytes(from.text(at));
      case ENUM:
        expect(given instanceof StringType, given, schema, place);
        return symbol(schema, place);
      case BYTES:
      case FIXED:
        return binary(given, declared, schema, place);
      case ARRAY:
        if (given instanceof MapType) {
          return entries((MapType) given, declared, schema, place);
        }
        expect(given instanceof ArrayType, given, schema, place);
        return array(value(((ArrayType) given).elementType(), declared.item, schema.getElementType(), place + "[]"));
      case MAP:
        expect(given instanceof MapType, given, schema, place);
        return map(value(((MapType) given).valueType(), declared.item, schema.getValueType(), place + "[]"));
      case RECORD:
        expect(given instanceof StructType, given, schema, place);
        StructType struct = (StructType) given;
        Value fields = record(struct, declared, schema, place + ".");
        return (from, at, out) -> fields.write(from.fields(at, struct.length()), 0, out);
      default:
        throw refused(given, schema, place);
    }
  }

  private static void expect(boolean fits, DataType given, Schema schema, String place) {
    if (!fits) {
      throw refused(given, schema, place);
    }
  }

  private static Value large(DataType given, Schema schema, String place) {
    if (given instanceof TimestampType) {
      String logical = schema.getProp("logicalType");
      boolean micros = logical != null && logical.endsWith("-micros");
      return (from, at, out) -> out.writeLong(micros ? from.large(at) : Math.floorDiv(from.large(at), MICROS));
    }
    if (given instanceof IntegerType) {
      return (from, at, out) -> out.writeLong(from.whole(at));
    }
    expect(given instanceof LongType, given, schema, place);
    return (from, at, out) -> out.writeLong(from.large(at));
  }

  private static Value symbol(Schema schema, String place) {
    return (from, at, out) -> {
      String name = new String(from.text(at), StandardCharsets.UTF_8);
      if (!schema.hasEnumSymbol(name)) {
        throw new IllegalStateException(place + ": the schema of the records has no symbol " + name);
      }
      out.writeEnum(schema.getEnumOrdinal(name));
    };
  }

  private static Value binary(DataType given, Type declared, Schema schema, String place) {
    boolean fixed = schema.getType() == Schema.Type.FIXED;
    int size = fixed ? schema.getFixedSize() : -1;
    if (given instanceof BinaryType) {
      return (from, at, out) -> bytes(from.binary(at), size, place, out);
    }
    expect(given instanceof DecimalType && "decimal".equals(schema.getProp("logicalType")), given, schema, place);
    int precision = ((DecimalType) given).precision();
    int scale = ((DecimalType) given).scale();
    Object known = schema.getObjectProp("scale");
    int wanted = known instanceof Number ? ((Number) known).intValue() : 0;
    if (wanted < scale) {
      throw new IllegalArgumentException(place + ": a " + given.catalogString() + " loses digits as " + declared);
    }
    return (from, at, out) -> {
      BigDecimal number = from.decimal(at, precision, scale).toJavaBigDecimal().setScale(wanted);
      byte[] digits = number.unscaledValue().toByteArray();
      if (fixed && digits.length < size) {
        byte[] wide = new byte[size]; // filled with the sign
        Arrays.fill(wide, (byte) (number.signum() < 0 ? -1 : 0));
        System.arraycopy(digits, 0, wide, size - digits.length, digits.length);
        digits = wide;
      }
      bytes(digits, size, place, out);
    };
  }

  private static void bytes(byte[] found, int size, String place, BinaryEncoder out) throws IOException {
    if (size < 0) {
      out.writeBytes(found);
    } else if (found.length == size) {
      out.writeFixed(found);
    } else {
      throw new IllegalStateException(place + " has " + found.length + " bytes, the schema of the records " + size);
    }
  }

  /** Writes the row itself, wherever it stands. */
  private static Value record(StructType given, Type declared, Schema schema, String place) {
    if (schema.getType() != Schema.Type.RECORD) {
      throw refused(given, schema, place.isEmpty() ? "the value" : place);
    }
    StructField[] columns = given.fields();
    List<Schema.Field> fields = schema.getFields();
    Value[] values = new Value[fields.size()];
    int[] from = new int[values.length];
    int used = 0;
    for (int i = 0; i < values.length; i++) {
      Schema.Field field = fields.get(i);
      from[i] = column(declared, columns.length, field.name());
      if (from[i] >= 0) {
        used++;
        DataType type = columns[from[i]].dataType();
        values[i] = value(type, declared.fields[from[i]], field.schema(), place + declared.field(from[i]));
        if (field.hasDefaultValue() && !field.schema().isNullable()) {
          values[i] = orDefault(values[i], constant(field, place));
        }
      } else {
        values[i] = constant(field, place);
      }
    }
    if (used < columns.length) {
      throw new IllegalArgumentException("the schema of the records lacks fields for some columns of " + place);
    }
    return (row, at, out) -> {
      for (int i = 0; i < values.length; i++) {
        values[i].write(row, from[i], out);
      }
    };
  }

  /** For a null that the field cannot hold, its default, as Kafka Connect has it. */
  private static Value orDefault(Value value, Value otherwise) {
    return (from, at, out) -> (from.isNull(at) ? otherwise : value).write(from, at, out);
  }

  /** The column of a field's very name, else the one whose name it is in upper case. */
  private static int column(Type declared, int count, String name) {
    int variant = -1;
    for (int i = 0; i < count; i++) {
      if (declared.field(i).equals(name)) {
        return i;
      }
      if (declared.field(i).equals(name.toUpperCase(Locale.ROOT))) {
        variant = i;
      }
    }
    return variant;
  }

  /** What stands in a field that no column is for. */
  private static Value constant(Schema.Field field, String place) {
    Object value = null;
    if (field.hasDefaultValue()) {
      value = GenericData.get().getDefaultValue(field);
    } else if (!field.schema().isNullable()) {
      throw new IllegalArgumentException(
          "the schema of the records has a field " + place + field.name() + " without a default, and there is no column");
    }
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    BinaryEncoder to = EncoderFactory.get().directBinaryEncoder(bytes, null);
    try {
      new GenericDatumWriter<>(field.schema()).write(value, to);
      to.flush();
    } catch (IOException e) {
      throw new IllegalStateException(e); // into memory
    }
    byte[] written = bytes.toByteArray();
    return (from, at, out) -> out.writeFixed(written);
  }

  // ---------------------------------------------------------------- ARRAY and MAP

  private static Value array(Value item) {
    return (from, at, out) -> {
      Cells items = from.items(at);
      int count = items.size();
      out.writeArrayStart();
      out.setItemCount(count);
      for (int i = 0; i < count; i++) {
        out.startItem();
        item.write(items, i, out);
      }
      out.writeArrayEnd();
    };
  }

  private static Value map(Value item) {
    return (from, at, out) -> {
      Cells keys = from.keys(at);
      Cells items = from.values(at);
      int count = keys.size();
      out.writeMapStart();
      out.setItemCount(count);
      for (int i = 0; i < count; i++) {
        out.startItem();
        out.writeBytes(keys.text(i));
        item.write(items, i, out);
      }
      out.writeMapEnd();
    };
  }

  /** A map as Kafka Connect writes it: an array of records of key and value. */
  private static Value entries(MapType given, Type declared, Schema schema, String place) {
    Schema entry = schema.getElementType();
    boolean fits = entry.getType() == Schema.Type.RECORD && entry.getFields().size() == 2;
    expect(fits && entry.getField("key") != null && entry.getField("value") != null, given, schema, place);
    boolean keyFirst = entry.getFields().get(0).name().equals("key");
    Value key = value(given.keyType(), KEY, entry.getField("key").schema(), place + "[]");
    Value item = value(given.valueType(), declared.item, entry.getField("value").schema(), place + "[]");
    return (from, at, out) -> {
      Cells keys = from.keys(at);
      Cells items = from.values(at);
      int count = keys.size();
      out.writeArrayStart();
      out.setItemCount(count);
      for (int i = 0; i < count; i++) {
        out.startItem();
        if (keyFirst) {
          key.write(keys, i, out);
        }
        item.write(items, i, out);
        if (!keyFirst) {
          key.write(keys, i, out);
        }
      }
      out.writeArrayEnd();
    };
  }

  // ---------------------------------------------------------------- Spark

  public byte[] invoke(InternalRow row) {
    if (bare && row.isNullAt(0)) {
      return null;
    }
    ByteArrayOutputStream bytes = new ByteArrayOutputStream(64);
    bytes.write(0);
    bytes.writeBytes(ByteBuffer.allocate(Integer.BYTES).putInt(schema).array());
    BinaryEncoder out = EncoderFactory.get().directBinaryEncoder(bytes, null);
    try {
      Value known = whole;
      if (known == null) {
        known = whole();
        whole = known;
      }
      known.write(Cells.of(row), 0, out);
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
