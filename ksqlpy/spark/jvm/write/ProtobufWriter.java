package ksqlpy.write;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.protobuf.CodedOutputStream;
import com.google.protobuf.WireFormat;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.List;
import ksqlpy.internals.Cells;
import ksqlpy.read.Messages;
import ksqlpy.read.Type;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * Writes a row as a message of the schema in the specification, each column as the field of its name: {@code (STRUCT of
 * the columns) → BINARY}. Of a schema in the registry there stand a zero byte, its id, and the place of the message in
 * it ahead.
 *
 * <p>A null is not written; nor is a 0, false or an empty text, where the schema does not tell it from nothing (Protocol
 * Buffers, encoding). A null in an ARRAY or MAP becomes what is not there: 0, an empty text, a message without fields.
 */
public final class ProtobufWriter implements ScalarFunction<byte[]> {
  private static final long serialVersionUID = 1L;

  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final long MICROS = 1000000L; // in a second
  private static final int NANOS = 1000; // in a microsecond
  private static final int MILLIS = 1000; // in a second
  private static final int BUFFER = 64;
  private static final byte[] NOTHING = {};

  private final String spec;
  private final StructType columns;
  private final byte[] ahead;
  private transient volatile Member[] members; // made again where a task runs

  /**
   * {@code spec}: {@code {"write":"PROTOBUF","text":…,"message":…,"schema":7,"path":[0],"type":…}}; schema and path: of
   * what is in the registry.
   */
  public ProtobufWriter(String spec, StructType columns) throws IOException {
    this.spec = spec;
    this.columns = columns;
    this.ahead = ahead(MAPPER.readTree(spec));
    this.members = members();
  }

  private static byte[] ahead(JsonNode described) throws IOException {
    if (!described.has("schema")) {
      return NOTHING;
    }
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    bytes.write(0);
    bytes.writeBytes(ByteBuffer.allocate(Integer.BYTES).putInt(described.get("schema").asInt()).array());
    CodedOutputStream out = CodedOutputStream.newInstance(bytes);
    JsonNode path = described.get("path");
    if (path.size() == 1 && path.get(0).asInt() == 0) {
      out.writeSInt32NoTag(0); // short for the first message
    } else {
      out.writeSInt32NoTag(path.size());
      for (JsonNode index : path) {
        out.writeSInt32NoTag(index.asInt());
      }
    }
    out.flush();
    return bytes.toByteArray();
  }

  /** Writes the content of a value that is not null, without its tag. */
  private interface Value {
    void write(Cells from, int at, CodedOutputStream out) throws IOException;
  }

  /** Whether a value is what is not written. */
  private interface Absent {
    boolean is(Cells from, int at);
  }

  /** Writes a field of a message. */
  private interface Member {
    void write(Cells from, int at, CodedOutputStream out) throws IOException;
  }

  private Member[] members() throws IOException {
    JsonNode described = MAPPER.readTree(spec);
    List<String> references = new ArrayList<>();
    described.path("references").forEach(r -> references.add(r.asText()));
    Messages messages = new Messages(described.get("text").asText(), references);
    return members(messages.named(described.get("message").asText()), columns, new Type(described.get("type")), "");
  }

  private static Member[] members(Messages.Message message, StructType given, Type type, String place) {
    StructField[] fields = given.fields();
    Member[] made = new Member[fields.length];
    for (int i = 0; i < made.length; i++) {
      String name = type.field(i);
      Messages.Field field = message.field(name);
      if (field == null) {
        field = message.fields().stream().filter(f -> f.name.equalsIgnoreCase(name)).findFirst().orElse(null);
      }
      if (field == null) {
        throw new IllegalArgumentException("message " + message.name + " has no field " + place + name);
      }
      made[i] = member(field, fields[i].dataType(), type.fields[i], place + name);
    }
    return made;
  }

  private static Member member(Messages.Field field, DataType given, Type type, String place) {
    if (given instanceof ArrayType && field.repeated) {
      return items(field, ((ArrayType) given).elementType(), type.item, place);
    }
    if (given instanceof MapType && field.repeated && field.type == Messages.MESSAGE) {
      return entries(field, ((MapType) given).valueType(), type.item, place);
    }
    if (field.repeated) {
      throw refused(field, given, place);
    }
    int tag = tag(field);
    Value value = value(field, given, type, place);
    Absent absent = field.presence ? null : absent(field, given);
    return (from, at, out) -> {
      if (!from.isNull(at) && (absent == null || !absent.is(from, at))) {
        out.writeUInt32NoTag(tag);
        value.write(from, at, out);
      }
    };
  }

  private static IllegalArgumentException refused(Messages.Field field, DataType given, String place) {
    return new IllegalArgumentException(place + ": a " + given.catalogString() + " is no value of field " + field.name);
  }

  private static int tag(Messages.Field field) {
    return field.number << 3 | Messages.wire(field);
  }

  /** Whether a number, text or byte string is that which is not written. */
  private static Absent absent(Messages.Field field, DataType given) {
    switch (field.type) {
      case Messages.MESSAGE:
        return null;
      case Messages.STRING:
        return (from, at) -> from.text(at).length == 0;
      case Messages.BYTES:
        return (from, at) -> from.binary(at).length == 0;
      case Messages.BOOL:
        return (from, at) -> !from.bool(at);
      case Messages.DOUBLE:
      case Messages.FLOAT:
        return (from, at) -> Double.doubleToRawLongBits(from.real(at)) == 0; // -0.0 is written
      default:
        Whole number = whole(given);
        return number == null ? null : (from, at) -> number.of(from, at) == 0;
    }
  }

  /** A whole number of a row. */
  private interface Whole {
    long of(Cells from, int at);
  }

  private static Whole whole(DataType given) {
    if (given.equals(DataTypes.IntegerType)) {
      return Cells::whole;
    }
    return given.equals(DataTypes.LongType) ? Cells::large : null;
  }

  /** Writes what a field of the type holds; throws IllegalArgumentException where the column's type does not fit. */
  private static Value value(Messages.Field field, DataType given, Type type, String place) {
    switch (field.type) {
      case Messages.MESSAGE:
        return message(field, given, type, place);
      case Messages.STRING:
        expect(given.equals(DataTypes.StringType), field, given, place);
        return (from, at, out) -> out.writeByteArrayNoTag(from.text(at));
      case Messages.BYTES:
        expect(given.equals(DataTypes.BinaryType), field, given, place);
        return (from, at, out) -> out.writeByteArrayNoTag(from.binary(at));
      case Messages.BOOL:
        expect(given.equals(DataTypes.BooleanType), field, given, place);
        return (from, at, out) -> out.writeBoolNoTag(from.bool(at));
      case Messages.DOUBLE:
        expect(given.equals(DataTypes.DoubleType), field, given, place);
        return (from, at, out) -> {
          double number = from.real(at);
          out.writeDoubleNoTag(Double.isNaN(number) ? Double.NaN : number); // always the same NaN
        };
      case Messages.FLOAT:
        expect(given.equals(DataTypes.DoubleType), field, given, place);
        return (from, at, out) -> out.writeFloatNoTag((float) from.real(at));
      default:
        return number(field, given, place);
    }
  }

  private static void expect(boolean fits, Messages.Field field, DataType given, String place) {
    if (!fits) {
      throw refused(field, given, place);
    }
  }

  private static Value number(Messages.Field field, DataType given, String place) {
    Whole number = whole(given);
    expect(number != null, field, given, place);
    switch (field.type) {
      case Messages.INT32:
      case Messages.INT64:
        return (from, at, out) -> out.writeInt64NoTag(number.of(from, at));
      case Messages.UINT32:
        return (from, at, out) -> out.writeUInt32NoTag((int) number.of(from, at));
      case Messages.UINT64:
        return (from, at, out) -> out.writeUInt64NoTag(number.of(from, at));
      case Messages.SINT32:
        return (from, at, out) -> out.writeSInt32NoTag((int) number.of(from, at));
      case Messages.SINT64:
        return (from, at, out) -> out.writeSInt64NoTag(number.of(from, at));
      case Messages.FIXED32:
      case Messages.SFIXED32:
        return (from, at, out) -> out.writeFixed32NoTag((int) number.of(from, at));
      case Messages.FIXED64:
      case Messages.SFIXED64:
        return (from, at, out) -> out.writeFixed64NoTag(number.of(from, at));
      default:
        throw refused(field, given, place);
    }
  }

  // ---------------------------------------------------------------- messages

  private static Value message(Messages.Field field, DataType given, Type type, String place) {
    Messages.Message message = field.message;
    if (given instanceof StructType) {
      Member[] members = members(message, (StructType) given, type, place + ".");
      return framed((from, at, out) -> write(members, from.fields(at, members.length), out));
    }
    if (message.name.equals(Messages.DATE) && given.equals(DataTypes.DateType)) {
      return framed((from, at, out) -> date(LocalDate.ofEpochDay(from.whole(at)), out));
    }
    if (message.name.equals(Messages.TIME) && given.equals(DataTypes.IntegerType)) {
      return framed((from, at, out) -> time(from.whole(at), out));
    }
    if (message.name.equals(Messages.TIMESTAMP) && given.equals(DataTypes.TimestampType)) {
      return framed((from, at, out) -> timestamp(Math.floorDiv(from.large(at), MICROS / MILLIS), out));
    }
    if (message.name.equals(Messages.DECIMAL) && given instanceof DecimalType) {
      return framed(decimal((DecimalType) given, type, place));
    }
    if (message.wraps()) {
      Messages.Field inner = message.fields().get(0);
      Value value = value(inner, given, type, place);
      Absent absent = absent(inner, given);
      int tag = tag(inner);
      return framed(
          (from, at, out) -> {
            if (!absent.is(from, at)) {
              out.writeUInt32NoTag(tag);
              value.write(from, at, out);
            }
          });
    }
    throw refused(field, given, place);
  }

  /** With its length in front. */
  private static Value framed(Value content) {
    return (from, at, out) -> {
      ByteArrayOutputStream bytes = new ByteArrayOutputStream(32);
      CodedOutputStream inner = CodedOutputStream.newInstance(bytes, BUFFER);
      content.write(from, at, inner);
      inner.flush();
      out.writeByteArrayNoTag(bytes.toByteArray());
    };
  }

  private static void write(Member[] members, Cells row, CodedOutputStream out) throws IOException {
    for (int i = 0; i < members.length; i++) {
      members[i].write(row, i, out);
    }
  }

  private static void numbered(int field, long number, CodedOutputStream out) throws IOException {
    if (number != 0) {
      out.writeInt64(field, number);
    }
  }

  private static void date(LocalDate day, CodedOutputStream out) throws IOException {
    numbered(1, day.getYear(), out);
    numbered(2, day.getMonthValue(), out);
    numbered(3, day.getDayOfMonth(), out);
  }

  private static void time(int millis, CodedOutputStream out) throws IOException {
    int seconds = millis / MILLIS;
    numbered(1, seconds / 3600, out);
    numbered(2, seconds / 60 % 60, out);
    numbered(3, seconds % 60, out);
    numbered(4, (long) (millis % MILLIS) * MILLIS * NANOS, out);
  }

  private static void timestamp(long millis, CodedOutputStream out) throws IOException {
    numbered(1, Math.floorDiv(millis, (long) MILLIS), out);
    numbered(2, Math.floorMod(millis, (long) MILLIS) * MILLIS * NANOS, out);
  }

  private static Value decimal(DecimalType given, Type type, String place) {
    int precision = given.precision();
    int scale = given.scale();
    int wanted = type.scale;
    if (wanted < scale) {
      throw new IllegalArgumentException(place + ": a " + given.catalogString() + " loses digits as " + type);
    }
    return (from, at, out) -> {
      BigDecimal number = from.decimal(at, precision, scale).toJavaBigDecimal().setScale(wanted);
      out.writeByteArray(1, number.unscaledValue().toByteArray());
      numbered(2, number.precision(), out);
      numbered(3, number.scale(), out);
    };
  }

  // ---------------------------------------------------------------- ARRAY and MAP

  private static Member items(Messages.Field field, DataType given, Type type, String place) {
    Value value = value(field, given, type, place);
    boolean packed = Messages.wire(field) != WireFormat.WIRETYPE_LENGTH_DELIMITED;
    int tag = tag(field);
    if (packed) {
      int packedTag = field.number << 3 | WireFormat.WIRETYPE_LENGTH_DELIMITED;
      Value all =
          framed(
              (items, count, out) -> {
                for (int i = 0; i < items.size(); i++) {
                  if (items.isNull(i)) {
                    zero(field, out);
                  } else {
                    value.write(items, i, out);
                  }
                }
              });
      return (from, at, out) -> {
        Cells items = from.isNull(at) ? null : from.items(at);
        if (items != null && items.size() > 0) {
          out.writeUInt32NoTag(packedTag);
          all.write(items, 0, out);
        }
      };
    }
    return (from, at, out) -> {
      Cells items = from.isNull(at) ? null : from.items(at);
      for (int i = 0; items != null && i < items.size(); i++) {
        out.writeUInt32NoTag(tag);
        if (items.isNull(i)) {
          zero(field, out);
        } else {
          value.write(items, i, out);
        }
      }
    };
  }

  /** What stands for a null among items: 0, false, or no bytes. */
  private static void zero(Messages.Field field, CodedOutputStream out) throws IOException {
    switch (Messages.wire(field)) {
      case WireFormat.WIRETYPE_FIXED64:
        out.writeFixed64NoTag(0);
        break;
      case WireFormat.WIRETYPE_FIXED32:
        out.writeFixed32NoTag(0);
        break;
      default:
        out.writeUInt32NoTag(0); // also the length of no bytes
    }
  }

  private static Member entries(Messages.Field field, DataType given, Type type, String place) {
    Messages.Field key = field.message.field("key");
    Messages.Field content = field.message.field("value");
    if (key == null || content == null || key.type != Messages.STRING || content.repeated) {
      throw new IllegalArgumentException(place + ": field " + field.name + " is no map of texts");
    }
    Value value = value(content, given, type, place);
    int tag = tag(field);
    int keyTag = tag(key);
    int valueTag = tag(content);
    return (from, at, out) -> {
      if (from.isNull(at)) {
        return;
      }
      Cells keys = from.keys(at);
      Cells values = from.values(at);
      for (int i = 0; i < keys.size(); i++) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream(32);
        CodedOutputStream entry = CodedOutputStream.newInstance(bytes, BUFFER);
        entry.writeUInt32NoTag(keyTag);
        entry.writeByteArrayNoTag(keys.text(i));
        entry.writeUInt32NoTag(valueTag);
        if (values.isNull(i)) {
          zero(content, entry);
        } else {
          value.write(values, i, entry);
        }
        entry.flush();
        out.writeUInt32NoTag(tag);
        out.writeByteArrayNoTag(bytes.toByteArray());
      }
    };
  }

  // ---------------------------------------------------------------- Spark

  public byte[] invoke(InternalRow row) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream(64);
    bytes.writeBytes(ahead);
    CodedOutputStream out = CodedOutputStream.newInstance(bytes, BUFFER);
    try {
      Member[] known = members;
      if (known == null) {
        known = members();
        members = known;
      }
      write(known, Cells.of(row), out);
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
    return "write_protobuf";
  }

  public String canonicalName() {
    return "ksqlpy." + spec + columns.catalogString();
  }

  public boolean equals(Object other) {
    return other instanceof ProtobufWriter && ((ProtobufWriter) other).canonicalName().equals(canonicalName());
  }

  public int hashCode() {
    return canonicalName().hashCode();
  }
}
