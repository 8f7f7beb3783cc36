package ksqlpy.read;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.protobuf.CodedInputStream;
import com.google.protobuf.WireFormat;
import java.io.IOException;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.DateTimeException;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import ksqlpy.clients.Registry;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Reads Protobuf, either as Confluent's serializers write it: a zero byte, the id of the writer's schema, the place of
 * the message in it, the message; or the message alone, by the schema in the specification.
 *
 * <p>Fields are found as in JSON. What is not there is null where the schema tells that from 0, else 0, an empty text or
 * no items; what nobody asked for is skipped. Types are those that ksqlDB takes: a smaller number for a larger one,
 * scalars for STRING. For each message there is one compiled reader, which makes Spark's values from the bytes.
 * The class is longer than others, since readers of messages and of values call each other.
 */
public final class ProtobufReader extends Reader {
  private static final long serialVersionUID = 1L;

  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final int MOST_SCHEMAS = 1000;
  private static final int MOST_LEVELS = 32; // of messages within messages
  private static final long DAY = 86400000L;
  private static final long MICROS = 1000000L; // in a second
  private static final int NANOS = 1000; // in a microsecond
  private static final long MILLIS = 1000L; // in a second
  private static final byte[] NOTHING = {0}; // a message of no bytes, with its length in front

  private final String text; // null: schemas are in the registry
  private final String message;
  private transient volatile Map<List<Integer>, Fields> readers; // by the writer's schema and the place in it
  private transient volatile Map<Integer, Parsed> schemas; // by their ids

  public ProtobufReader(String spec) throws IOException {
    super(spec);
    JsonNode described = MAPPER.readTree(spec);
    text = described.path("text").textValue();
    message = described.path("message").textValue();
  }

  public String name() {
    return "read_protobuf";
  }

  public InternalRow invoke(byte[] bytes) {
    return result(bytes);
  }

  protected Object read(byte[] bytes) {
    CodedInputStream in = CodedInputStream.newInstance(bytes);
    try {
      Fields reader = text == null ? reader(bytes, in) : own();
      return reader.row(in);
    } catch (IOException e) {
      throw new Unreadable("it ends too early, or is no message of Protobuf");
    } catch (StackOverflowError e) {
      throw new Unreadable("nested too deeply");
    }
  }

  private Map<List<Integer>, Fields> readers() {
    Map<List<Integer>, Fields> known = readers;
    if (known == null) {
      known = new ConcurrentHashMap<>();
      readers = known;
    }
    return known;
  }

  private Fields own() {
    return readers()
        .computeIfAbsent(List.of(), k -> new Fields(new Messages(text, List.of()).named(message), type(), ""));
  }

  private Fields reader(byte[] bytes, CodedInputStream in) throws IOException {
    int id = Registered.id(bytes, "Protobuf");
    in.skipRawBytes(Registered.AHEAD);
    int levels = in.readSInt32();
    if (levels < 0 || levels > MOST_LEVELS) {
      throw new Unreadable("it names no message of schema " + id);
    }
    Integer[] key = new Integer[1 + Math.max(levels, 1)];
    Arrays.fill(key, Integer.valueOf(0)); // no level: the first message
    key[0] = Integer.valueOf(id);
    for (int i = 1; i <= levels; i++) {
      key[i] = Integer.valueOf(in.readSInt32());
    }
    List<Integer> place = Arrays.asList(key);
    Map<List<Integer>, Fields> known = readers();
    Fields reader = known.get(place);
    if (reader == null) {
      if (known.size() >= MOST_SCHEMAS) {
        known.clear();
      }
      reader = made(id, place.subList(1, place.size()));
      known.put(place, reader);
    }
    return reader;
  }

  private Fields made(int id, List<Integer> path) {
    Parsed parsed = parsed(id);
    Messages.Message named;
    try {
      named = parsed.messages().at(path.stream().mapToInt(Integer::intValue).toArray());
    } catch (IllegalArgumentException e) {
      throw new Unreadable("schema " + id + ": " + e.getMessage());
    }
    if (named == null) {
      throw new Unreadable("it names no message of schema " + id);
    }
    return new Fields(named, type(), "");
  }

  private Parsed parsed(int id) {
    Map<Integer, Parsed> known = schemas;
    if (known == null) {
      known = new ConcurrentHashMap<>();
      schemas = known;
    }
    Parsed parsed = known.get(Integer.valueOf(id));
    if (parsed == null) {
      Registry.Found found = Registered.schema(id, "PROTOBUF");
      try {
        parsed = new Parsed(new Messages(found.text, found.references), null);
      } catch (IllegalArgumentException e) {
        parsed = new Parsed(null, e.getMessage());
      }
      if (known.size() >= MOST_SCHEMAS) {
        known.clear();
      }
      known.put(Integer.valueOf(id), parsed);
    }
    if (parsed.problem() != null) {
      throw new Unreadable("schema " + id + ": " + parsed.problem());
    }
    return parsed;
  }

  /** A schema of the registry, or what is wrong with it: neither is found out for each record. */
  private record Parsed(Messages messages, String problem) {}

  // ---------------------------------------------------------------- one reader for each pair of message and type

  /** Reads a value whose tag was read. */
  private interface Value {
    Object read(CodedInputStream in) throws IOException;
  }

  private static Unreadable wrong(String place, Object value, Object type, String why) {
    return new Unreadable((place.isEmpty() ? "" : place + ": ") + "cannot read " + value + " as " + type + ", " + why);
  }

  /** Reads the fields of a message into the fields of a STRUCT. */
  private static final class Fields {
    private static final int MOST_SLOTS = 256;

    private final Slot[] slots; // by the number of the field
    private final Map<Integer, Slot> others = new LinkedHashMap<>(); // of high numbers
    private final Object[] missing;

    Fields(Messages.Message message, Type type, String place) {
      missing = new Object[type.fields.length];
      slots = new Slot[MOST_SLOTS];
      Map<String, List<Slot>> flat = new LinkedHashMap<>();
      for (Messages.Field field : message.fields()) {
        Slot slot = slot(message, field, type, place);
        if (slot == null) {
          continue;
        }
        if (field.number < MOST_SLOTS) {
          slots[field.number] = slot;
        } else {
          others.put(Integer.valueOf(field.number), slot);
        }
        if (!field.presence && !slot.gathers()) {
          missing[slot.column] = slot.missing;
        }
        if (field.union != null && slot.width == 0) {
          flat.computeIfAbsent(field.union, u -> new ArrayList<>()).add(slot);
        }
      }
      for (List<Slot> union : flat.values()) {
        for (Slot slot : union) {
          slot.others = union.stream().filter(s -> s != slot).mapToInt(s -> s.column).toArray();
        }
      }
    }

    /** Where a field goes to; null for nowhere. */
    private static Slot slot(Messages.Message message, Messages.Field field, Type type, String place) {
      String inside = place.isEmpty() ? field.name : place + "." + field.name;
      if (field.union != null) {
        int union = column(type, field.union, message);
        if (union >= 0 && type.fields[union].kind == Type.STRUCT) {
          int column = column(type.fields[union], field.name, null);
          if (column < 0) {
            return new Slot(field, union, -1, type.fields[union].fields.length);
          }
          Slot slot = Slot.of(field, type.fields[union].fields[column], inside);
          slot.column = union;
          slot.within = column;
          slot.width = type.fields[union].fields.length;
          return slot;
        }
      }
      int column = column(type, field.name, message);
      if (column < 0) {
        return null;
      }
      Slot slot = Slot.of(field, type.fields[column], inside);
      slot.column = column;
      return slot;
    }

    /** The column of a name, as in JSON: unless another field has the column's very name. */
    private static int column(Type type, String name, Messages.Message message) {
      Type.Place to = type.place(name);
      if (to.exact >= 0 || to.variant < 0 || message == null) {
        return to.exact >= 0 ? to.exact : to.variant;
      }
      String own = type.field(to.variant);
      return message.fields().stream().anyMatch(f -> f.name.equals(own)) ? -1 : to.variant;
    }

    /** Reads up to the end of the bytes, or of what the stream is limited to. */
    GenericInternalRow row(CodedInputStream in) throws IOException {
      Object[] values = missing.clone();
      Gathered[] items = null;
      for (int tag = in.readTag(); tag != 0; tag = in.readTag()) {
        int number = WireFormat.getTagFieldNumber(tag);
        Slot slot = number < MOST_SLOTS ? slots[number] : others.get(Integer.valueOf(number));
        if (slot == null) {
          if (!in.skipField(tag)) {
            throw new IOException("a group ends that did not begin");
          }
          continue;
        }
        if (slot.gathers()) {
          items = gather(slot, tag, in, items);
        } else {
          slot.put(tag, in, values);
        }
      }
      finish(values, items);
      return new GenericInternalRow(values);
    }

    private Gathered[] gather(Slot slot, int tag, CodedInputStream in, Gathered[] before)
        throws IOException {
      Gathered[] items = before == null ? new Gathered[missing.length] : before;
      if (items[slot.column] == null) {
        items[slot.column] = new Gathered();
      }
      slot.gather(tag, in, items[slot.column]);
      return items;
    }

    private void finish(Object[] values, Gathered[] items) {
      for (Slot slot : slots) {
        finish(slot, values, items);
      }
      for (Slot slot : others.values()) {
        finish(slot, values, items);
      }
    }

    private static void finish(Slot slot, Object[] values, Gathered[] items) {
      if (slot != null && slot.gathers()) {
        values[slot.column] = slot.gathered(items == null ? null : items[slot.column]);
      }
    }
  }

  /** The items of an ARRAY or the entries of a MAP so far. */
  private static final class Gathered extends ArrayList<Object> {
    private static final long serialVersionUID = 1L;
  }

  /** Where the values of one field go to, and how they are read. */
  private static final class Slot {
    private static final GenericArrayData NO_ITEMS = new GenericArrayData(new Object[0]);

    private final Messages.Field field;
    private final int wire; // type of the wire, of one value
    private Value value; // null: the field is only looked at
    private Object missing;
    private String refused; // why it cannot be read as its column's type
    private int column;
    private int within = -1; // of a oneof: the field of the struct in the column
    private int width; // of that struct; 0: none
    private int[] others = {}; // columns of the other fields of a oneof without a struct
    private boolean array;
    private boolean map;

    private Slot(Messages.Field field, int column, int within, int width) {
      this.field = field;
      this.wire = Messages.wire(field);
      this.column = column;
      this.within = within;
      this.width = width;
    }

    static Slot of(Messages.Field field, Type type, String place) {
      Slot slot = new Slot(field, -1, -1, 0);
      if (!slot.takes(type, place)) {
        slot.array = false;
        slot.map = false;
        slot.refused = (place.isEmpty() ? "" : place + ": ") + "cannot read " + what(field) + " as " + type;
      }
      return slot;
    }

    private boolean takes(Type type, String place) {
      if (!field.repeated) {
        value = value(field, type, place);
        missing = value == null ? null : missing(field, type);
        return value != null;
      }
      map = type.kind == Type.MAP;
      if (map) {
        value = field.type == Messages.MESSAGE ? entry(field.message, type.item, place) : null;
        return value != null;
      }
      array = type.kind == Type.ARRAY && !field.map;
      value = array ? value(field, type.item, place + "[]") : null;
      return value != null;
    }

    boolean gathers() {
      return array || map;
    }

    private void check(int tag, CodedInputStream in) throws IOException {
      if (refused != null) {
        throw new Unreadable(refused);
      }
      if (WireFormat.getTagWireType(tag) != wire) {
        if (!in.skipField(tag)) {
          throw new IOException("a group ends that did not begin");
        }
        throw new Unreadable("field " + field.number + " (" + field.name + ") is of another type than in its schema");
      }
    }

    void put(int tag, CodedInputStream in, Object[] values) throws IOException {
      if (value == null && refused == null) { // a oneof whose struct has no such field
        in.skipField(tag);
        values[column] = new GenericInternalRow(new Object[width]);
        return;
      }
      check(tag, in);
      Object found = value.read(in);
      if (width == 0) {
        for (int other : others) { // the last one of a oneof counts
          values[other] = null;
        }
        values[column] = found;
      } else {
        Object[] chosen = new Object[width]; // as above
        chosen[within] = found;
        values[column] = new GenericInternalRow(chosen);
      }
    }

    void gather(int tag, CodedInputStream in, Gathered items) throws IOException {
      boolean packed =
          array && wire != WireFormat.WIRETYPE_LENGTH_DELIMITED
              && WireFormat.getTagWireType(tag) == WireFormat.WIRETYPE_LENGTH_DELIMITED;
      if (!packed) {
        check(tag, in);
        items.add(value.read(in));
        return;
      }
      int limit = in.pushLimit(in.readRawVarint32());
      while (in.getBytesUntilLimit() > 0) {
        items.add(value.read(in));
      }
      in.popLimit(limit);
    }

    /** The ARRAY or MAP of what was gathered. */
    Object gathered(Gathered items) {
      if (array) {
        return items == null ? NO_ITEMS : new GenericArrayData(items.toArray());
      }
      LinkedHashMap<Object, Object> entries = new LinkedHashMap<>();
      if (items != null) {
        for (Object item : items) {
          Object[] entry = (Object[]) item;
          entries.put(entry[0], entry[1]);
        }
      }
      return new ArrayBasedMapData(
          new GenericArrayData(entries.keySet().toArray()), new GenericArrayData(entries.values().toArray()));
    }
  }

  /** A field as messages name it. */
  private static String what(Messages.Field field) {
    if (field.map) {
      return "a map";
    }
    String single = field.type == Messages.MESSAGE ? "message" : Messages.name(field.type);
    return (field.repeated ? "repeated " : "") + single;
  }

  // ---------------------------------------------------------------- scalars

  /** What a field that is not there stands for; never asked of a field that tells whether it is there. */
  private static Object missing(Messages.Field field, Type type) {
    if (field.type == Messages.MESSAGE) {
      return null;
    }
    switch (type.kind) {
      case Type.BOOLEAN:
        return Boolean.FALSE;
      case Type.INTEGER:
      case Type.DATE:
      case Type.TIME:
        return Integer.valueOf(0);
      case Type.BIGINT:
      case Type.TIMESTAMP:
        return Long.valueOf(0);
      case Type.DOUBLE:
        return Double.valueOf(0);
      case Type.BYTES:
        return new byte[0];
      default:
        if (field.type == Messages.ENUM) {
          return field.names.values().stream().findFirst().orElse(UTF8String.EMPTY_UTF8);
        }
        if (field.type == Messages.STRING) {
          return UTF8String.EMPTY_UTF8;
        }
        boolean real = field.type == Messages.DOUBLE || field.type == Messages.FLOAT;
        return UTF8String.fromString(field.type == Messages.BOOL ? "false" : real ? "0.0" : "0");
    }
  }

  /** Reads one value of a field; null for one that the type does not take. */
  private static Value value(Messages.Field field, Type type, String place) {
    if (field.type == Messages.MESSAGE) {
      Value whole = message(field.message, type, place);
      return whole == null ? null : limited(whole);
    }
    switch (type.kind) {
      case Type.BOOLEAN:
        return field.type == Messages.BOOL ? in -> Boolean.valueOf(in.readBool()) : null;
      case Type.INTEGER:
      case Type.DATE:
        return small(field.type);
      case Type.TIME:
        return time(small(field.type), place);
      case Type.BIGINT:
        return large(field.type);
      case Type.TIMESTAMP:
        return moment(large(field.type), place);
      case Type.DOUBLE:
        return real(field.type);
      case Type.STRING:
        return text(field);
      case Type.BYTES:
        return field.type == Messages.BYTES ? CodedInputStream::readByteArray : null;
      default:
        return null;
    }
  }

  private static Value limited(Value whole) {
    return in -> {
      int limit = in.pushLimit(in.readRawVarint32());
      Object found = whole.read(in);
      if (in.getBytesUntilLimit() != 0) {
        throw new IOException("a message does not end where it should");
      }
      in.popLimit(limit);
      return found;
    };
  }

  private static Value small(int type) {
    switch (type) {
      case Messages.INT32:
        return in -> Integer.valueOf(in.readInt32());
      case Messages.SINT32:
        return in -> Integer.valueOf(in.readSInt32());
      case Messages.SFIXED32:
        return in -> Integer.valueOf(in.readSFixed32());
      default:
        return null;
    }
  }

  private static Value large(int type) {
    switch (type) {
      case Messages.INT32:
        return in -> Long.valueOf(in.readInt32());
      case Messages.SINT32:
        return in -> Long.valueOf(in.readSInt32());
      case Messages.SFIXED32:
        return in -> Long.valueOf(in.readSFixed32());
      case Messages.UINT32:
        return in -> Long.valueOf(in.readUInt32() & 0xffffffffL);
      case Messages.FIXED32:
        return in -> Long.valueOf(in.readFixed32() & 0xffffffffL);
      case Messages.INT64:
        return in -> Long.valueOf(in.readInt64());
      case Messages.SINT64:
        return in -> Long.valueOf(in.readSInt64());
      case Messages.SFIXED64:
        return in -> Long.valueOf(in.readSFixed64());
      case Messages.UINT64:
        return in -> Long.valueOf(in.readUInt64());
      case Messages.FIXED64:
        return in -> Long.valueOf(in.readFixed64());
      default:
        return null;
    }
  }

  private static Value real(int type) {
    switch (type) {
      case Messages.DOUBLE:
        return in -> Double.valueOf(in.readDouble());
      case Messages.FLOAT:
        return in -> Double.valueOf(in.readFloat());
      default:
        return null;
    }
  }

  private static Value text(Messages.Field field) {
    switch (field.type) {
      case Messages.STRING:
        boolean strict = field.strict;
        return in -> string(in, strict);
      case Messages.ENUM:
        Map<Integer, UTF8String> names = field.names;
        return in -> {
          Integer number = Integer.valueOf(in.readEnum());
          UTF8String name = names.get(number);
          return name == null ? UTF8String.fromString(number.toString()) : name;
        };
      case Messages.BOOL:
        return in -> UTF8String.fromString(Boolean.toString(in.readBool()));
      case Messages.DOUBLE:
        return in -> UTF8String.fromString(Double.toString(in.readDouble()));
      case Messages.FLOAT:
        return in -> UTF8String.fromString(Double.toString(in.readFloat()));
      default:
        Value number = large(field.type);
        return number == null ? null : in -> UTF8String.fromString(number.read(in).toString());
    }
  }

  /** {@code strict}: of proto3, whose texts are in UTF-8, or the whole message is none. */
  private static UTF8String string(CodedInputStream in, boolean strict) throws IOException {
    UTF8String text = UTF8String.fromBytes(in.readByteArray());
    if (text.isValid()) {
      return text;
    }
    if (strict) {
      throw new IOException("a text is not in UTF-8");
    }
    return text.makeValid();
  }

  private static Value time(Value number, String place) {
    return number == null ? null : in -> clock(((Integer) number.read(in)).longValue(), place);
  }

  private static Integer clock(long millis, String place) {
    if (millis < 0 || millis > DAY) {
      throw wrong(place, Long.valueOf(millis), "TIME", "not a number of milliseconds within a day");
    }
    return Integer.valueOf((int) millis);
  }

  private static Value moment(Value number, String place) {
    if (number == null) {
      return null;
    }
    return in -> {
      Long millis = (Long) number.read(in);
      try {
        return Long.valueOf(Math.multiplyExact(millis.longValue(), MICROS / MILLIS));
      } catch (ArithmeticException e) {
        throw wrong(place, millis, "TIMESTAMP", "out of range");
      }
    };
  }

  // ---------------------------------------------------------------- messages

  private static Value message(Messages.Message message, Type type, String place) {
    switch (type.kind) {
      case Type.STRUCT:
        Fields fields = new Fields(message, type, place);
        return fields::row;
      case Type.DATE:
        return message.name.equals(Messages.DATE) ? in -> date(in, place) : wrapped(message, type, place);
      case Type.TIME:
        return message.name.equals(Messages.TIME) ? in -> timeOfDay(in, place) : wrapped(message, type, place);
      case Type.TIMESTAMP:
        return message.name.equals(Messages.TIMESTAMP) ? in -> timestamp(in, place) : wrapped(message, type, place);
      case Type.DECIMAL:
        return message.name.equals(Messages.DECIMAL) ? in -> decimal(in, type, place) : null;
      default:
        return wrapped(message, type, place);
    }
  }

  /** The scalar in a wrapper of Google's; null for other messages. */
  private static Value wrapped(Messages.Message message, Type type, String place) {
    if (!message.wraps()) {
      return null;
    }
    Messages.Field field = message.fields().get(0);
    Value value = value(field, type, place);
    if (value == null) {
      return null;
    }
    Object missing = missing(field, type);
    return in -> {
      Object found = missing;
      for (int tag = in.readTag(); tag != 0; tag = in.readTag()) {
        if (WireFormat.getTagFieldNumber(tag) == 1 && WireFormat.getTagWireType(tag) == Messages.wire(field)) {
          found = value.read(in);
        } else {
          in.skipField(tag);
        }
      }
      return found;
    };
  }

  /** The numbers of a message whose fields 1, 2, … are such; {@code bits}: 32, or 64 of the first one. */
  private static long[] numbers(CodedInputStream in, int count, int bits) throws IOException {
    long[] found = new long[count];
    for (int tag = in.readTag(); tag != 0; tag = in.readTag()) {
      int number = WireFormat.getTagFieldNumber(tag);
      if (number <= count && WireFormat.getTagWireType(tag) == WireFormat.WIRETYPE_VARINT) {
        long read = in.readInt64();
        found[number - 1] = bits == 64 && number == 1 ? read : (int) read;
      } else {
        in.skipField(tag);
      }
    }
    return found;
  }

  private static Integer date(CodedInputStream in, String place) throws IOException {
    long[] parts = numbers(in, 3, 32);
    try {
      return Integer.valueOf(
          Math.toIntExact(LocalDate.of((int) parts[0], (int) parts[1], (int) parts[2]).toEpochDay()));
    } catch (DateTimeException | ArithmeticException e) {
      throw wrong(place, parts[0] + "-" + parts[1] + "-" + parts[2], "DATE", "not a date");
    }
  }

  private static Integer timeOfDay(CodedInputStream in, String place) throws IOException {
    long[] parts = numbers(in, 4, 32);
    boolean fits = true;
    for (int i = 0; i < parts.length; i++) {
      fits = fits && parts[i] >= 0 && parts[i] < (i == 0 ? 25 : i < 3 ? 61 : MICROS * NANOS);
    }
    if (!fits) {
      throw wrong(place, parts[0] + ":" + parts[1] + ":" + parts[2], "TIME", "not a time of the day");
    }
    return clock(((parts[0] * 60 + parts[1]) * 60 + parts[2]) * MILLIS + parts[3] / (NANOS * MILLIS), place);
  }

  private static Long timestamp(CodedInputStream in, String place) throws IOException {
    long[] parts = numbers(in, 2, 64);
    try {
      // As ksqlDB has it, a TIMESTAMP is of milliseconds.
      long millis = Math.addExact(Math.multiplyExact(parts[0], MILLIS), Math.floorDiv(parts[1], NANOS * MILLIS));
      return Long.valueOf(Math.multiplyExact(millis, MICROS / MILLIS));
    } catch (ArithmeticException e) {
      throw wrong(place, Long.valueOf(parts[0]), "TIMESTAMP", "out of range");
    }
  }

  private static Decimal decimal(CodedInputStream in, Type type, String place) throws IOException {
    byte[] digits = {};
    int scale = 0;
    for (int tag = in.readTag(); tag != 0; tag = in.readTag()) {
      if (tag == (1 << 3 | WireFormat.WIRETYPE_LENGTH_DELIMITED)) {
        digits = in.readByteArray();
      } else if (tag == (3 << 3 | WireFormat.WIRETYPE_VARINT)) {
        scale = in.readInt32();
      } else {
        in.skipField(tag);
      }
    }
    BigDecimal number = new BigDecimal(digits.length == 0 ? BigInteger.ZERO : new BigInteger(digits), scale);
    BigDecimal fitting = number.signum() == 0 ? BigDecimal.ZERO : number.stripTrailingZeros();
    if (number.signum() != 0 && fitting.precision() - fitting.scale() > type.precision - type.scale) {
      throw wrong(place, shown(number), type, "too many digits");
    }
    if (fitting.scale() > type.scale) {
      throw wrong(place, shown(number), type, "too many digits after the point");
    }
    return Decimal.apply(fitting.setScale(type.scale), type.precision, type.scale);
  }

  private static String shown(BigDecimal number) {
    return number.precision() - number.scale() > 1000 || number.scale() > 1000 ? number.toString() : number.toPlainString();
  }

  // ---------------------------------------------------------------- entries of maps

  /** An entry of a map, as key and value; null for messages that are none. */
  private static Value entry(Messages.Message message, Type item, String place) {
    Messages.Field key = message.field("key");
    Messages.Field content = message.field("value");
    if (key == null || content == null || key.type != Messages.STRING || key.repeated || content.repeated) {
      return null;
    }
    Value value = value(content, item, place + "[]");
    if (value == null) {
      return null;
    }
    int keyTag = key.number << 3 | Messages.wire(key);
    int valueTag = content.number << 3 | Messages.wire(content);
    return limited(
        in -> {
          Object[] found = {UTF8String.EMPTY_UTF8, null};
          boolean there = false;
          for (int tag = in.readTag(); tag != 0; tag = in.readTag()) {
            if (tag == keyTag) {
              found[0] = string(in, key.strict);
            } else if (tag == valueTag) {
              found[1] = value.read(in);
              there = true;
            } else {
              in.skipField(tag);
            }
          }
          if (!there && !content.presence) {
            boolean isMessage = content.type == Messages.MESSAGE;
            found[1] = isMessage ? value.read(CodedInputStream.newInstance(NOTHING)) : missing(content, item);
          }
          return found;
        });
  }
}
