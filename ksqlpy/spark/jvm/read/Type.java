package ksqlpy.read;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;

/**
 * A type of ksqlDB as the readers need it, with Spark's type for the values that they make.
 *
 * <p>It is described by JSON: {@code "INTEGER"} (any scalar), {@code {"kind":"DECIMAL","precision":4,"scale":2}},
 * {@code {"kind":"ARRAY","item":…}}, {@code {"kind":"MAP","item":…}} (keys are always text) or
 * {@code {"kind":"STRUCT","fields":[["NAME",…],…]}}. TIME is an integer for Spark: milliseconds of the day.
 */
public final class Type {
  static final int BOOLEAN = 0;
  static final int INTEGER = 1;
  static final int BIGINT = 2;
  static final int DOUBLE = 3;
  static final int STRING = 4;
  static final int BYTES = 5;
  static final int DATE = 6;
  static final int TIME = 7;
  static final int TIMESTAMP = 8;
  static final int DECIMAL = 9;
  static final int ARRAY = 10;
  static final int MAP = 11;
  static final int STRUCT = 12;

  private static final String[] NAMES = {
    "BOOLEAN", "INTEGER", "BIGINT", "DOUBLE", "STRING", "BYTES", "DATE", "TIME", "TIMESTAMP", "DECIMAL", "ARRAY", "MAP",
    "STRUCT"
  };
  private static final DataType[] SCALARS = {
    DataTypes.BooleanType, DataTypes.IntegerType, DataTypes.LongType, DataTypes.DoubleType, DataTypes.StringType,
    DataTypes.BinaryType, DataTypes.DateType, DataTypes.IntegerType, DataTypes.TimestampType
  };
  private static final int MOST_DIGITS = 38;

  final int kind;
  final DataType spark;
  /** DECIMAL only. */
  final int precision;

  public final int scale;
  /** What an ARRAY or a MAP holds. */
  public final Type item;
  /** STRUCT only. */
  public final Type[] fields;

  private final String[] names;
  private final Map<String, Integer> indexes = new HashMap<>();

  /** What was found for the names in the texts read so far: upper-casing each name of each record would cost time. */
  private final Map<String, Place> places = new ConcurrentHashMap<>();

  private static final int MOST_PLACES = 1000; // texts whose names are data must not fill the memory

  /** Where the value of one name in a text goes to: numbers of fields, -1 for none. */
  static final class Place {
    static final Place NOWHERE = new Place(-1, -1);
    final int exact;
    final int variant;

    Place(int exact, int variant) {
      this.exact = exact;
      this.variant = variant;
    }
  }

  public Type(JsonNode described) {
    kind = kind(described);
    switch (kind) {
      case DECIMAL:
        precision = number(described, "precision");
        scale = number(described, "scale");
        if (precision < 1 || precision > MOST_DIGITS || scale < 0 || scale > precision) {
          throw new IllegalArgumentException("no such type: " + this);
        }
        item = null;
        names = null;
        fields = null;
        spark = DataTypes.createDecimalType(precision, scale);
        break;
      case ARRAY:
      case MAP:
        precision = 0;
        scale = 0;
        item = new Type(part(described, "item"));
        names = null;
        fields = null;
        spark =
            kind == ARRAY
                ? (DataType) DataTypes.createArrayType(item.spark, true)
                : (DataType) DataTypes.createMapType(DataTypes.StringType, item.spark, true);
        break;
      case STRUCT:
        precision = 0;
        scale = 0;
        item = null;
        JsonNode list = part(described, "fields");
        names = new String[list.size()];
        fields = new Type[list.size()];
        StructField[] columns = new StructField[list.size()];
        for (int i = 0; i < fields.length; i++) {
          JsonNode pair = list.get(i);
          if (pair.size() != 2 || !pair.get(0).isTextual()) {
            throw new IllegalArgumentException("a field is [name, type], not " + pair);
          }
          names[i] = pair.get(0).asText();
          fields[i] = new Type(pair.get(1));
          columns[i] = DataTypes.createStructField(names[i], fields[i].spark, true);
          indexes.put(names[i], Integer.valueOf(i));
        }
        spark = DataTypes.createStructType(columns);
        break;
      default:
        precision = 0;
        scale = 0;
        item = null;
        names = null;
        fields = null;
        spark = SCALARS[kind];
    }
  }

  private static int kind(JsonNode described) {
    String name = described.isTextual() ? described.asText() : part(described, "kind").asText();
    for (int i = 0; i < NAMES.length; i++) {
      if (NAMES[i].equals(name)) {
        return i;
      }
    }
    throw new IllegalArgumentException("no such type: " + described);
  }

  private static JsonNode part(JsonNode described, String name) {
    JsonNode part = described.get(name);
    if (part == null) {
      throw new IllegalArgumentException("no \"" + name + "\" in " + described);
    }
    return part;
  }

  private static int number(JsonNode described, String name) {
    JsonNode part = part(described, name);
    if (!part.isInt()) {
      throw new IllegalArgumentException("\"" + name + "\" is no number in " + described);
    }
    return part.intValue();
  }

  /**
   * The fields of a STRUCT that take the value which stands under {@code name}: the one of that name, and the one
   * whose name it is in upper case. That one takes it unless its own name is in the text too.
   */
  Place place(String name) {
    Place known = places.get(name);
    if (known != null) {
      return known;
    }
    int exact = index(name);
    int variant = index(name.toUpperCase(Locale.ROOT));
    Place place = exact < 0 && variant < 0 ? Place.NOWHERE : new Place(exact, variant == exact ? -1 : variant);
    if (places.size() < MOST_PLACES) {
      places.put(name, place);
    }
    return place;
  }

  /** The name of a field of a STRUCT. */
  public String field(int index) {
    return names[index];
  }

  private int index(String name) {
    Integer index = indexes.get(name);
    return index == null ? -1 : index.intValue();
  }

  public String toString() {
    switch (kind) {
      case DECIMAL:
        return "DECIMAL(" + precision + ", " + scale + ")";
      case ARRAY:
        return "ARRAY<" + item + ">";
      case MAP:
        return "MAP<STRING, " + item + ">";
      default:
        return NAMES[kind];
    }
  }
}
