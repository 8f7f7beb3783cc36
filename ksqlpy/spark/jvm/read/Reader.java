package ksqlpy.read;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.util.Locale;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Reads the bytes of a record's key or value: {@code (BINARY) → STRUCT<row, error STRING>}, never null.
 *
 * <p>{@code row} is null for no bytes and for what cannot be read; {@code error} says why in the second case only.
 * It says that it is not deterministic, though it is: so Spark runs it once a record, however often its parts are
 * used.
 *
 * <p>Spark looks for a method {@code invoke} in the class itself, so each reader has its own.
 */
public abstract class Reader implements ScalarFunction<InternalRow> {
  private static final long serialVersionUID = 1L;

  private static final ObjectMapper MAPPER = new ObjectMapper();

  private final String spec;
  private final boolean bare;
  private transient volatile Type type; // made again from the spec where a task runs

  protected Reader(String spec) throws IOException {
    this.spec = spec;
    JsonNode described = MAPPER.readTree(spec);
    this.bare = described.path("bare").asBoolean();
    this.type = type(described);
    if (!bare && type.kind != Type.STRUCT) {
      throw new IllegalArgumentException("only a bare value can be of type " + type);
    }
  }

  /** The reader that reads what the specification says: for JSON a JsonReader, and so on. */
  public static Reader named(String name, String spec) throws IOException, ClassNotFoundException {
    if (!name.matches("[A-Z][A-Z0-9]*")) {
      throw new ClassNotFoundException(name);
    }
    String simple = name.charAt(0) + name.substring(1).toLowerCase(Locale.ROOT) + "Reader";
    String full = Reader.class.getPackage().getName() + "." + simple;
    try {
      return Class.forName(full, true, Reader.class.getClassLoader())
          .asSubclass(Reader.class)
          .getConstructor(String.class)
          .newInstance(spec);
    } catch (InvocationTargetException e) {
      if (e.getCause() instanceof IOException) {
        throw (IOException) e.getCause();
      }
      if (e.getCause() instanceof RuntimeException) {
        throw (RuntimeException) e.getCause();
      }
      throw new IllegalStateException(e.getCause());
    } catch (ReflectiveOperationException e) {
      throw new ClassNotFoundException(full, e);
    }
  }

  private static Type type(JsonNode described) {
    if (!described.has("type")) {
      throw new IllegalArgumentException("no \"type\" in " + described);
    }
    return new Type(described.get("type"));
  }

  /** Whether the row is the value itself, not a struct of columns. */
  protected final boolean bare() {
    return bare;
  }

  protected final Type type() {
    Type known = type;
    if (known == null) {
      try {
        known = type(MAPPER.readTree(spec));
      } catch (IOException e) {
        throw new IllegalStateException(e); // it was read before
      }
      type = known;
    }
    return known;
  }

  /** The value in Spark's internal representation; throws Unreadable. */
  protected abstract Object read(byte[] bytes);

  protected final InternalRow result(byte[] bytes) {
    Object row = null;
    UTF8String error = null;
    if (bytes != null) {
      try {
        row = read(bytes);
      } catch (Unreadable e) {
        error = UTF8String.fromString(e.getMessage());
      }
    }
    return new GenericInternalRow(new Object[] {row, error});
  }

  public DataType[] inputTypes() {
    return new DataType[] {DataTypes.BinaryType};
  }

  public DataType resultType() {
    return DataTypes.createStructType(
        new StructField[] {
          DataTypes.createStructField("row", type().spark, true),
          DataTypes.createStructField("error", DataTypes.StringType, true)
        });
  }

  public boolean isResultNullable() {
    return false;
  }

  public boolean isDeterministic() {
    return false;
  }

  public String canonicalName() {
    return "ksqlpy." + spec;
  }
}
