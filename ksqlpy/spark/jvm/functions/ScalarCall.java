package ksqlpy.functions;

import java.lang.reflect.Modifier;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * A scalar function of the language that is written in Java, see {@link Scalar}: {@code (STRUCT of the arguments) →
 * its result}.
 *
 * <p>Spark finds {@code invoke} by the types of its parameters. With one struct there is one such method for all
 * functions, of any number and types of arguments; Spark compiles the making of the struct and the call.
 */
public final class ScalarCall implements ScalarFunction<Object> {
  private static final long serialVersionUID = 1L;

  private static final String PACKAGE = ScalarCall.class.getPackageName() + ".";

  private final String name;
  private final StructType arguments;
  private transient volatile Scalar function; // made again where a task runs

  /** {@code name}: a nested class, {@code Urls.Host}. Throws IllegalArgumentException if it does not fit. */
  public ScalarCall(String name, StructType arguments) {
    this.name = name;
    this.arguments = arguments;
    this.function = make(name);
    StructField[] fields = arguments.fields();
    String[] types = new String[fields.length];
    for (int i = 0; i < types.length; i++) {
      types[i] = fields[i].dataType().catalogString();
    }
    if (!function.takes(types)) {
      throw new IllegalArgumentException(
          name + " takes (" + String.join(", ", function.parameters) + "), not (" + String.join(", ", types) + ")");
    }
  }

  private static Scalar make(String name) {
    try {
      Class<?> found = Class.forName(PACKAGE + name.replace('.', '$'), true, Scalar.class.getClassLoader());
      if (Scalar.class.isAssignableFrom(found) && !Modifier.isAbstract(found.getModifiers())) {
        return (Scalar) found.getDeclaredConstructor().newInstance();
      }
    } catch (ReflectiveOperationException e) {
      throw new IllegalArgumentException("no such function: " + name + " (" + e + ")");
    }
    throw new IllegalArgumentException("no such function: " + name);
  }

  public Object invoke(InternalRow row) {
    Scalar known = function;
    if (known == null) {
      known = make(name);
      function = known;
    }
    return known.result(row);
  }

  public DataType[] inputTypes() {
    return new DataType[] {arguments};
  }

  public DataType resultType() {
    return DataType.fromDDL(make(name).result);
  }

  public String name() {
    return name;
  }

  public String canonicalName() {
    return "ksqlpy." + name + arguments.catalogString();
  }

  public boolean equals(Object other) {
    return other instanceof ScalarCall && ((ScalarCall) other).canonicalName().equals(canonicalName());
  }

  public int hashCode() {
    return name.hashCode();
  }
}
