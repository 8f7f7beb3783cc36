package ksqlpy.read;

import java.io.EOFException;
import java.io.IOException;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import ksqlpy.clients.Registry;
import org.apache.avro.AvroRuntimeException;
import org.apache.avro.NameValidator;
import org.apache.avro.Schema;
import org.apache.avro.io.BinaryDecoder;
import org.apache.avro.io.DecoderFactory;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Reads Avro as Confluent's serializers write it: a zero byte, the id of the writer's schema, the value. Each record is
 * read by its writer's schema, which the {@link ksqlpy.clients.Registry} has.
 *
 * <p>Fields are found as in JSON; missing ones are null, those that nobody asked for are skipped. Types are those that
 * ksqlDB takes: a smaller number for a larger one, scalars for STRING. For each schema there is one compiled reader,
 * which makes Spark's values straight from the bytes.
 */
public final class AvroReader extends Reader {
  private static final long serialVersionUID = 1L;

  private static final int MOST_SCHEMAS = 1000;
  private static final long DAY = 86400000L;
  private static final long MICROS = 1000L;

  private transient volatile Map<Integer, Value> readers; // by the writer's schema

  public AvroReader(String spec) throws IOException {
    super(spec);
  }

  public String name() {
    return "read_avro";
  }

  public InternalRow invoke(byte[] bytes) {
    return result(bytes);
  }

  protected Object read(byte[] bytes) {
    int id = Registered.id(bytes, "Avro");
    Value reader = reader(id);
    try {
      int ahead = Registered.AHEAD;
      BinaryDecoder in = DecoderFactory.get().binaryDecoder(bytes, ahead, bytes.length - ahead, null);
      Object value = reader.read(in);
      if (in.isEnd()) {
        return value;
      }
    } catch (EOFException e) {
      // said below
    } catch (IOException e) {
      // so is a number with too many bytes
    } catch (AvroRuntimeException e) {
      // and a length that cannot be
    } catch (IndexOutOfBoundsException e) {
      // and a branch that the schema has not
    } catch (UnsupportedOperationException e) {
      // and a length beyond what Java's arrays hold
    } catch (StackOverflowError e) {
      throw new Unreadable("nested too deeply");
    }
    throw new Unreadable("it ends too early, or is not what schema " + id + " describes");
  }

  private Value reader(int id) {
    Map<Integer, Value> known = readers;
    if (known == null) {
      known = new ConcurrentHashMap<>();
      readers = known;
    }
    Value reader = known.get(Integer.valueOf(id));
    if (reader == null) {
      reader = made(id);
      if (known.size() >= MOST_SCHEMAS) {
        known.clear();
      }
      known.put(Integer.valueOf(id), reader);
    }
    return reader;
  }

  /** Of a schema that is none, too: it is looked at once, not for each record. */
  private Value made(int id) {
    Registry.Found found = Registered.schema(id, "AVRO");
    try {
      Schema.Parser parser = new Schema.Parser(NameValidator.NO_VALIDATION).setValidateDefaults(false);
      for (String reference : found.references) {
        parser.parse(reference);
      }
      return value(parser.parse(found.text), type(), "");
    } catch (AvroRuntimeException e) { // SchemaParseException and its like
      return in -> {
        throw new Unreadable("schema " + id + " is no schema of Avro");
      };
    }
  }

  // ---------------------------------------------------------------- one reader for each pair of schema and type

  /** Reads a value that stands next. */
  private interface Value {
    Object read(BinaryDecoder in) throws IOException;
  }

  private static Value value(Schema schema, Type type, String place) {
    Value made = made(schema, type, place);
    if (made == null) {
      String text = (place.isEmpty() ? "" : place + ": ") + "cannot read " + what(schema) + " as " + type;
      return in -> {
        throw new Unreadable(text);
      };
    }
    return made;
  }

  private static Value made(Schema schema, Type type, String place) {
    if (schema.getType() == Schema.Type.UNION) {
      return union(schema, type, place);
    }
    switch (type.kind) {
      case Type.BOOLEAN:
        return schema.getType() == Schema.Type.BOOLEAN ? in -> Boolean.valueOf(in.readBoolean()) : null;
      case Type.INTEGER:
        return schema.getType() == Schema.Type.INT ? in -> Integer.valueOf(in.readInt()) : null;
      case Type.BIGINT:
        return whole(schema);
      case Type.DOUBLE:
        return real(schema);
      case Type.STRING:
        return text(schema);
      case Type.BYTES:
        return binary(schema);
      case Type.DATE:
        return schema.getType() == Schema.Type.INT && isLogical(schema, "date")
            ? in -> Integer.valueOf(in.readInt())
            : null;
      case Type.TIME:
        return time(schema, place);
      case Type.TIMESTAMP:
        return timestamp(schema, place);
      case Type.DECIMAL:
        return decimal(schema, type, place);
      case Type.ARRAY:
        return schema.getType() == Schema.Type.ARRAY ? array(schema, type, place) : null;
      case Type.MAP:
        return map(schema, type, place);
      default:
        return schema.getType() == Schema.Type.RECORD ? record(schema, type, place) : null;
    }
  }

  private static Value union(Schema schema, Type type, String place) {
    List<Schema> branches = schema.getTypes();
    long others = branches.stream().filter(b -> b.getType() != Schema.Type.NULL).count();
    if (others > 1) {
      return null;
    }
    Value[] readers = new Value[branches.size()];
    for (int i = 0; i < readers.length; i++) {
      readers[i] = branches.get(i).getType() == Schema.Type.NULL ? in -> null : value(branches.get(i), type, place);
    }
    return in -> readers[in.readIndex()].read(in);
  }

  /** A schema as messages name it: its type, of a record its name, of a union what it is made of. */
  private static String what(Schema schema) {
    switch (schema.getType()) {
      case UNION:
        return "a union of several types";
      case RECORD:
        return "a record";
      case INT:
      case ARRAY:
      case ENUM:
        return "an " + schema.getType().getName();
      case BYTES:
      case NULL:
        return schema.getType().getName();
      default:
        return "a " + schema.getType().getName();
    }
  }

  private static boolean isLogical(Schema schema, String... names) {
    String found = schema.getProp("logicalType");
    if (found == null) {
      return true;
    }
    for (String name : names) {
      if (name.equals(found)) {
        return true;
      }
    }
    return false;
  }

  // ---------------------------------------------------------------- scalars

  private static Value whole(Schema schema) {
    switch (schema.getType()) {
      case INT:
        return in -> Long.valueOf(in.readInt());
      case LONG:
        return in -> Long.valueOf(in.readLong());
      default:
        return null;
    }
  }

  private static Value real(Schema schema) {
    switch (schema.getType()) {
      case FLOAT:
        return in -> Double.valueOf(in.readFloat());
      case DOUBLE:
        return in -> Double.valueOf(in.readDouble());
      default:
        return null;
    }
  }

  private static Value text(Schema schema) {
    switch (schema.getType()) {
      case STRING:
        return AvroReader::string;
      case ENUM:
        List<String> symbols = schema.getEnumSymbols();
        return in -> UTF8String.fromString(symbols.get(in.readEnum()));
      case INT:
        return in -> UTF8String.fromString(Integer.toString(in.readInt()));
      case LONG:
        return in -> UTF8String.fromString(Long.toString(in.readLong()));
      case FLOAT:
        return in -> UTF8String.fromString(Double.toString(in.readFloat()));
      case DOUBLE:
        return in -> UTF8String.fromString(Double.toString(in.readDouble()));
      case BOOLEAN:
        return in -> UTF8String.fromString(Boolean.toString(in.readBoolean()));
      default:
        return null;
    }
  }

  private static UTF8String string(BinaryDecoder in) throws IOException {
    UTF8String text = UTF8String.fromBytes(bytes(in));
    return text.isValid() ? text : text.makeValid();
  }

  /** Not by readBytes, which makes room for any length before it looks whether there are so many bytes. */
  private static byte[] bytes(BinaryDecoder in) throws IOException {
    long length = in.readLong();
    if (length < 0 || length > in.inputStream().available()) {
      throw new EOFException();
    }
    byte[] found = new byte[(int) length];
    in.readFixed(found, 0, found.length);
    return found;
  }

  private static Value binary(Schema schema) {
    switch (schema.getType()) {
      case BYTES:
        return AvroReader::bytes;
      case FIXED:
        int size = schema.getFixedSize();
        return in -> {
          if (size > in.inputStream().available()) {
            throw new EOFException();
          }
          byte[] found = new byte[size];
          in.readFixed(found, 0, size);
          return found;
        };
      default:
        return null;
    }
  }

  private static Unreadable wrong(String place, Object value, String type, String why) {
    return new Unreadable((place.isEmpty() ? "" : place + ": ") + "cannot read " + value + " as " + type + ", " + why);
  }

  private static Value time(Schema schema, String place) {
    boolean micros = "time-micros".equals(schema.getProp("logicalType"));
    Value number = whole(schema);
    boolean fits = schema.getType() == Schema.Type.INT ? isLogical(schema, "time-millis") : micros;
    if (number == null || !fits) {
      return null;
    }
    return in -> {
      long found = ((Long) number.read(in)).longValue();
      long millis = micros ? Math.floorDiv(found, MICROS) : found;
      if (millis < 0 || millis > DAY) {
        throw wrong(place, found, "TIME", "not a number of milliseconds within a day");
      }
      return Integer.valueOf((int) millis);
    };
  }

  private static Value timestamp(Schema schema, String place) {
    if (schema.getType() != Schema.Type.LONG
        || !isLogical(schema, "timestamp-millis", "local-timestamp-millis", "timestamp-micros", "local-timestamp-micros")) {
      return null;
    }
    String logical = schema.getProp("logicalType");
    boolean micros = logical != null && logical.endsWith("-micros");
    return in -> {
      long found = in.readLong();
      long millis = micros ? Math.floorDiv(found, MICROS) : found;
      try {
        return Long.valueOf(Math.multiplyExact(millis, MICROS));
      } catch (ArithmeticException e) {
        throw wrong(place, found, "TIMESTAMP", "out of range");
      }
    };
  }

  private static Value decimal(Schema schema, Type type, String place) {
    Value digits = binary(schema);
    if (digits == null || !"decimal".equals(schema.getProp("logicalType"))) {
      return null;
    }
    Object given = schema.getObjectProp("scale");
    int scale = given instanceof Number ? ((Number) given).intValue() : 0;
    return in -> {
      byte[] found = (byte[]) digits.read(in);
      BigDecimal number = new BigDecimal(found.length == 0 ? BigInteger.ZERO : new BigInteger(found), scale);
      BigDecimal fitting = number;
      if (scale != type.scale) {
        fitting = number.signum() == 0 ? BigDecimal.ZERO : number.stripTrailingZeros();
        if (fitting.scale() > type.scale) {
          throw wrong(place, number.toPlainString(), type.toString(), "too many digits after the point");
        }
        fitting = fitting.setScale(type.scale);
      }
      if (fitting.precision() > type.precision) {
        throw wrong(place, number.toPlainString(), type.toString(), "too many digits");
      }
      return Decimal.apply(fitting, type.precision, type.scale);
    };
  }

  // ---------------------------------------------------------------- nested values

  private static Value array(Schema schema, Type type, String place) {
    Value item = value(schema.getElementType(), type.item, place + "[]");
    return in -> {
      ArrayList<Object> items = new ArrayList<>();
      for (long count = in.readArrayStart(); count != 0; count = in.arrayNext()) {
        check(count, in);
        for (long i = 0; i < count; i++) {
          items.add(item.read(in));
        }
      }
      return new GenericArrayData(items.toArray());
    };
  }

  /** A block of more items than there are bytes: a wrong count must not fill the memory. */
  private static void check(long count, BinaryDecoder in) throws IOException {
    if (count < 0 || count > in.inputStream().available()) {
      throw new EOFException();
    }
  }

  private static Value map(Schema schema, Type type, String place) {
    if (schema.getType() == Schema.Type.MAP) {
      Value item = value(schema.getValueType(), type.item, place + "[]");
      return in -> {
        LinkedHashMap<UTF8String, Object> entries = new LinkedHashMap<>();
        for (long count = in.readMapStart(); count != 0; count = in.mapNext()) {
          check(count, in);
          for (long i = 0; i < count; i++) {
            UTF8String key = string(in);
            entries.put(key, item.read(in));
          }
        }
        return entries(entries);
      };
    }
    if (schema.getType() != Schema.Type.ARRAY || !isEntry(schema.getElementType())) {
      return null;
    }
    Value[] readers = new Value[2];
    List<Schema.Field> fields = schema.getElementType().getFields();
    int keyAt = fields.get(0).name().equals("key") ? 0 : 1;
    Schema keys = fields.get(keyAt).schema();
    Value key = nullableText(keys);
    if (key == null) {
      return null;
    }
    readers[keyAt] = key;
    readers[1 - keyAt] = value(fields.get(1 - keyAt).schema(), type.item, place + "[]");
    String nullKey = (place.isEmpty() ? "" : place + ": ") + "a key of a map is null";
    return in -> {
      LinkedHashMap<UTF8String, Object> entries = new LinkedHashMap<>();
      for (long count = in.readArrayStart(); count != 0; count = in.arrayNext()) {
        check(count, in);
        for (long i = 0; i < count; i++) {
          Object first = readers[0].read(in);
          Object second = readers[1].read(in);
          Object name = keyAt == 0 ? first : second;
          if (name == null) {
            throw new Unreadable(nullKey);
          }
          entries.put((UTF8String) name, keyAt == 0 ? second : first);
        }
      }
      return entries(entries);
    };
  }

  private static boolean isEntry(Schema item) {
    if (item.getType() != Schema.Type.RECORD || item.getFields().size() != 2) {
      return false;
    }
    boolean named =
        "MapEntry".equals(item.getProp("connect.internal.type"))
            || item.getFullName().equals("io.confluent.connect.avro.ConnectDefault.MapEntry");
    return named && item.getField("key") != null && item.getField("value") != null;
  }

  private static Value nullableText(Schema schema) {
    if (schema.getType() != Schema.Type.UNION) {
      return text(schema);
    }
    Value[] readers = new Value[schema.getTypes().size()];
    for (int i = 0; i < readers.length; i++) {
      Schema branch = schema.getTypes().get(i);
      readers[i] = branch.getType() == Schema.Type.NULL ? in -> null : text(branch);
      if (readers[i] == null) {
        return null;
      }
    }
    return in -> readers[in.readIndex()].read(in);
  }

  private static ArrayBasedMapData entries(LinkedHashMap<UTF8String, Object> entries) {
    return new ArrayBasedMapData(
        new GenericArrayData(entries.keySet().toArray()), new GenericArrayData(entries.values().toArray()));
  }

  private static Value record(Schema schema, Type type, String place) {
    List<Schema.Field> fields = schema.getFields();
    Value[] readers = new Value[fields.size()];
    int[] columns = new int[readers.length];
    for (int i = 0; i < readers.length; i++) {
      String name = fields.get(i).name();
      Schema of = fields.get(i).schema();
      Type.Place to = type.place(name);
      columns[i] = to.exact >= 0 ? to.exact : to.variant;
      if (to.exact < 0 && to.variant >= 0 && schema.getField(type.field(to.variant)) != null) {
        columns[i] = -1; // the field of the column's own name goes there
      }
      if (columns[i] >= 0) {
        readers[i] = value(of, type.fields[columns[i]], place.isEmpty() ? name : place + "." + name);
      } else {
        readers[i] =
            in -> {
              AvroSkip.skip(of, in);
              return null;
            };
      }
    }
    int width = type.fields.length;
    return in -> {
      Object[] values = new Object[width];
      for (int i = 0; i < readers.length; i++) {
        Object found = readers[i].read(in);
        if (columns[i] >= 0) {
          values[columns[i]] = found;
        }
      }
      return new GenericInternalRow(values);
    };
  }
}
