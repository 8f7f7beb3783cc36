package ksqlpy.read;

import com.google.protobuf.WireFormat;
import com.squareup.wire.schema.Field.Label;
import com.squareup.wire.schema.Location;
import com.squareup.wire.schema.internal.parser.EnumConstantElement;
import com.squareup.wire.schema.internal.parser.EnumElement;
import com.squareup.wire.schema.internal.parser.FieldElement;
import com.squareup.wire.schema.internal.parser.MessageElement;
import com.squareup.wire.schema.internal.parser.OneOfElement;
import com.squareup.wire.schema.internal.parser.ProtoFileElement;
import com.squareup.wire.schema.internal.parser.ProtoParser;
import com.squareup.wire.schema.internal.parser.TypeElement;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * The messages and enums of a .proto text, and of the texts that it imports, with the types of their fields resolved
 * (Protocol Buffers, language specification).
 *
 * <p>A text may be a descriptor in base64 instead. The messages of Google and Confluent that stand for scalars need not be among the imported texts.
 */
public final class Messages {
  public static final String TIMESTAMP = "google.protobuf.Timestamp";
  public static final String DATE = "google.type.Date";
  public static final String TIME = "google.type.TimeOfDay";
  public static final String DECIMAL = "confluent.type.Decimal";

  /** The types of fields; those of numbers in the order of {@link #SCALARS}. */
  public static final int MESSAGE = -1;

  public static final int ENUM = -2;
  /** What is not resolved: no column can be of it. */
  public static final int UNKNOWN = -3;

  public static final int DOUBLE = 0;
  public static final int FLOAT = 1;
  public static final int INT32 = 2;
  public static final int INT64 = 3;
  public static final int UINT32 = 4;
  public static final int UINT64 = 5;
  public static final int SINT32 = 6;
  public static final int SINT64 = 7;
  public static final int FIXED32 = 8;
  public static final int FIXED64 = 9;
  public static final int SFIXED32 = 10;
  public static final int SFIXED64 = 11;
  public static final int BOOL = 12;
  public static final int STRING = 13;
  public static final int BYTES = 14;

  private static final List<String> SCALARS =
      List.of(
          "double", "float", "int32", "int64", "uint32", "uint64", "sint32", "sint64", "fixed32", "fixed64", "sfixed32",
          "sfixed64", "bool", "string", "bytes");

  private static final String PROTO3 = "syntax = \"proto3\";";
  private static final String WRAPPERS = "google.protobuf.";
  private static final String[] KNOWN = {
    PROTO3 + "package google.protobuf;"
        + "message Timestamp { int64 seconds = 1; int32 nanos = 2; }"
        + "message Duration { int64 seconds = 1; int32 nanos = 2; }"
        + "message Any { string type_url = 1; bytes value = 2; }"
        + "message Empty { }"
        + "message DoubleValue { double value = 1; }"
        + "message FloatValue { float value = 1; }"
        + "message Int64Value { int64 value = 1; }"
        + "message UInt64Value { uint64 value = 1; }"
        + "message Int32Value { int32 value = 1; }"
        + "message UInt32Value { uint32 value = 1; }"
        + "message BoolValue { bool value = 1; }"
        + "message StringValue { string value = 1; }"
        + "message BytesValue { bytes value = 1; }",
    PROTO3 + "package google.type;"
        + "message Date { int32 year = 1; int32 month = 2; int32 day = 3; }"
        + "message TimeOfDay { int32 hours = 1; int32 minutes = 2; int32 seconds = 3; int32 nanos = 4; }",
    PROTO3 + "package confluent.type;" + "message Decimal { bytes value = 1; uint32 precision = 2; int32 scale = 3; }"
  };

  private final List<MessageElement> top = new ArrayList<>();
  private final Map<String, Message> messages = new HashMap<>();
  private final Map<String, Map<Integer, UTF8String>> enums = new HashMap<>();
  private String scope;

  /** A message; its fields are resolved when they are first asked for, since messages may hold each other. */
  public final class Message {
    public final String name;
    private final MessageElement element;
    private final boolean presence; // of scalars, of proto2
    private List<Field> fields;

    private Message(String name, MessageElement element, boolean presence) {
      this.name = name;
      this.element = element;
      this.presence = presence;
    }

    /** An entry of a map. */
    private Message(String name, Field key, Field value) {
      this(name, null, false);
      fields = List.of(key, value);
    }

    /** The fields, those of a {@code oneof} among them. */
    public synchronized List<Field> fields() {
      if (fields == null) {
        List<Field> made = new ArrayList<>();
        for (FieldElement field : element.getFields()) {
          made.add(declared(field, this, null));
        }
        int index = 0;
        for (OneOfElement union : element.getOneOfs()) {
          for (FieldElement field : union.getFields()) {
            made.add(declared(field, this, union.getName() + "_" + index));
          }
          index++;
        }
        fields = made;
      }
      return fields;
    }

    /** The field of a name, or null. */
    public Field field(String name) {
      return fields().stream().filter(f -> f.name.equals(name)).findFirst().orElse(null);
    }

    /** Whether it is a wrapper of a scalar, with one field for it. */
    public boolean wraps() {
      return name.startsWith(WRAPPERS) && name.endsWith("Value") && fields().size() == 1;
    }
  }

  /** A field of a message. */
  public static final class Field {
    public final String name;
    public final int number;
    /** A scalar, MESSAGE, ENUM or UNKNOWN. */
    public final int type;

    public final boolean repeated;
    /** Whether it is repeated as the entries of a map, whose message has a key and a value. */
    public final boolean map;
    /** Whether a scalar that is not there is null, not 0. */
    public final boolean presence;
    /** Whether a text must be in UTF-8. */
    public final boolean strict;
    /** The {@code oneof} that it belongs to, as Kafka Connect names the field that holds it, else null. */
    public final String union;

    public final Message message;
    /** The names of an enum by their numbers, the first one first. */
    public final Map<Integer, UTF8String> names;

    private Field(
        String name,
        int number,
        String type,
        Resolved resolved,
        boolean presence,
        boolean strict,
        boolean repeated,
        String union) {
      this.name = name;
      this.number = number;
      this.type =
          resolved.message != null
              ? MESSAGE
              : resolved.names != null ? ENUM : SCALARS.contains(type) ? SCALARS.indexOf(type) : UNKNOWN;
      this.repeated = repeated;
      this.map = resolved.message != null && resolved.message.element == null;
      this.presence = presence;
      this.strict = strict;
      this.union = union;
      this.message = resolved.message;
      this.names = resolved.names;
    }
  }

  private static final class Resolved {
    static final Resolved NOTHING = new Resolved(null, null);
    final Message message;
    final Map<Integer, UTF8String> names;

    Resolved(Message message, Map<Integer, UTF8String> names) {
      this.message = message;
      this.names = names;
    }
  }

  /** Throws IllegalArgumentException for what is no schema of Protobuf. {@code references}: the texts imported. */
  public Messages(String text, List<String> references) {
    for (String known : KNOWN) {
      declare(known, false);
    }
    for (String reference : references) {
      declare(reference, false);
    }
    declare(text, true);
  }

  private void declare(String text, boolean own) {
    ProtoFileElement file;
    try {
      file = ProtoParser.Companion.parse(Location.get("schema.proto"), DescriptorText.of(text));
    } catch (RuntimeException e) { // the library's own kind of it is IllegalStateException
      String why = String.valueOf(e.getMessage()).lines().findFirst().orElse("");
      throw new IllegalArgumentException("it is no schema of Protobuf: " + why);
    }
    String space = file.getPackageName() == null ? "" : file.getPackageName();
    boolean presence = file.getSyntax() == null || file.getSyntax().toString().equals("proto2");
    for (TypeElement each : file.getTypes()) {
      declare(each, space, presence);
      if (own && each instanceof MessageElement) {
        top.add((MessageElement) each);
      }
    }
    if (own) {
      scope = space;
    }
  }

  private void declare(TypeElement element, String around, boolean presence) {
    String full = around.isEmpty() ? element.getName() : around + "." + element.getName();
    if (element instanceof MessageElement) {
      messages.put(full, new Message(full, (MessageElement) element, presence));
      for (TypeElement each : element.getNestedTypes()) {
        declare(each, full, presence);
      }
    } else if (element instanceof EnumElement) {
      Map<Integer, UTF8String> names = new LinkedHashMap<>();
      for (EnumConstantElement each : ((EnumElement) element).getConstants()) {
        names.putIfAbsent(Integer.valueOf(each.getTag()), UTF8String.fromString(each.getName()));
      }
      enums.put(full, names);
    }
  }

  /** How a value of a field stands in the bytes (WireFormat.WIRETYPE_…). */
  public static int wire(Field field) {
    switch (field.type) {
      case DOUBLE:
      case FIXED64:
      case SFIXED64:
        return WireFormat.WIRETYPE_FIXED64;
      case FLOAT:
      case FIXED32:
      case SFIXED32:
        return WireFormat.WIRETYPE_FIXED32;
      case MESSAGE:
      case UNKNOWN:
      case STRING:
      case BYTES:
        return WireFormat.WIRETYPE_LENGTH_DELIMITED;
      default:
        return WireFormat.WIRETYPE_VARINT;
    }
  }

  /** The name of a type that is no message. */
  static String name(int type) {
    return type == ENUM ? "enum" : type == UNKNOWN ? "an unknown type" : SCALARS.get(type);
  }

  /** The message of a full name; throws IllegalArgumentException. */
  public Message named(String name) {
    Message found = messages.get(name);
    if (found == null) {
      throw new IllegalArgumentException("it has no message " + name);
    }
    return found;
  }

  /** The message at a place, as records name it: by the number of each level; null if there is none. */
  public Message at(int[] path) {
    String name = scope;
    List<? extends TypeElement> within = top;
    for (int index : path) {
      List<MessageElement> found = new ArrayList<>();
      for (TypeElement each : within) {
        if (each instanceof MessageElement) {
          found.add((MessageElement) each);
        }
      }
      if (index < 0 || index >= found.size()) {
        return null;
      }
      MessageElement element = found.get(index);
      name = name.isEmpty() ? element.getName() : name + "." + element.getName();
      within = element.getNestedTypes();
    }
    return messages.get(name);
  }

  private Field declared(FieldElement element, Message in, String union) {
    String name = element.getName();
    String type = element.getType();
    if (type.startsWith("map<")) {
      int comma = type.indexOf(',');
      Field key = field("key", 1, type.substring(4, comma).trim(), in, false, false, null);
      Field value = field("value", 2, type.substring(comma + 1, type.length() - 1).trim(), in, false, false, null);
      Resolved entry = new Resolved(new Message(in.name + "." + name + "Entry", key, value), null);
      return new Field(name, element.getTag(), type, entry, false, !in.presence, true, null);
    }
    Label label = element.getLabel();
    boolean presence = union != null || label == Label.OPTIONAL || (in.presence && label != Label.REPEATED);
    return field(name, element.getTag(), type, in, presence, label == Label.REPEATED, union);
  }

  private Field field(
      String name, int number, String type, Message in, boolean presence, boolean repeated, String union) {
    Resolved resolved = SCALARS.contains(type) ? Resolved.NOTHING : resolved(type, in.name);
    return new Field(name, number, type, resolved, presence, !in.presence, repeated, union);
  }

  /** What a name means within a message: the innermost thing of that name. */
  private Resolved resolved(String type, String within) {
    if (type.startsWith(".")) {
      return found(type.substring(1));
    }
    for (String around = within; ; around = around.substring(0, Math.max(around.lastIndexOf('.'), 0))) {
      Resolved found = found(around.isEmpty() ? type : around + "." + type);
      if (found != Resolved.NOTHING || around.isEmpty()) {
        return found;
      }
    }
  }

  private Resolved found(String full) {
    if (messages.containsKey(full)) {
      return new Resolved(messages.get(full), null);
    }
    return enums.containsKey(full) ? new Resolved(null, enums.get(full)) : Resolved.NOTHING;
  }
}
