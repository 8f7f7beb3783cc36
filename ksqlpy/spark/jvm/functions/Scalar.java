package ksqlpy.functions;

import java.util.List;
import java.util.Map;
import ksqlpy.internals.Bounded;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * What one scalar function computes; {@link ScalarCall} makes a function for Spark of it.
 *
 * <p>A function is a nested class with a constructor without parameters: {@code Urls.Host} is called as {@code
 * {"call":"Urls.Host"}}. It gives its types to the constructor here and computes in {@link #of}. A null argument gives
 * null without asking it, unless {@link #takesNull} says otherwise. An exception is null too: ksqlDB's rule for a
 * column that cannot be computed. Each task has its own, which one thread uses at a time, so it may remember things.
 */
public abstract class Scalar {
  final String result;
  final String[] parameters;

  /**
   * {@code result}, {@code parameters}: Spark's types as DDL, such as {@code array<string>}; the parameters with commas
   * between. After the last one {@code …} says that it may be repeated.
   */
  Scalar(String result, String parameters) {
    this.result = result;
    this.parameters = parameters.split(", ");
  }

  /**
   * The result: null, UTF8String or String, a boxed number or Boolean, byte[], or a List or Map of these, with keys of
   * type String.
   */
  abstract Object of(InternalRow arguments) throws Exception;

  /** Whether the parameter with this number, from 0, may be null. */
  boolean takesNull(int index) {
    return false;
  }

  static String text(InternalRow arguments, int index) {
    return arguments.isNullAt(index) ? null : arguments.getUTF8String(index).toString();
  }

  final boolean takes(String[] types) {
    int fixed = parameters.length;
    String last = parameters[fixed - 1];
    boolean variadic = last.endsWith("…");
    if (variadic ? types.length < fixed : types.length != fixed) {
      return false;
    }
    for (int i = 0; i < types.length; i++) {
      String wanted = i < fixed - 1 ? parameters[i] : variadic ? last.substring(0, last.length() - 1) : last;
      if (!types[i].equals(wanted)) {
        return false;
      }
    }
    return true;
  }

  final Object result(InternalRow arguments) {
    for (int i = arguments.numFields() - 1; i >= 0; i--) {
      if (arguments.isNullAt(i) && !takesNull(i)) {
        return null;
      }
    }
    try {
      return internal(of(arguments));
    } catch (Exception e) {
      return null;
    } catch (StackOverflowError e) { // of a text nested too deeply, or of a pattern
      return null;
    }
  }

  /** A value as Spark holds it. */
  private static Object internal(Object value) {
    if (value instanceof String) {
      return Bounded.text(UTF8String.fromString((String) value));
    }
    if (value instanceof byte[]) {
      return Bounded.bytes((byte[]) value);
    }
    if (value instanceof List) {
      return array(((List<?>) value).toArray());
    }
    if (value instanceof Map) {
      Map<?, ?> map = (Map<?, ?>) value;
      return new ArrayBasedMapData(array(map.keySet().toArray()), array(map.values().toArray()));
    }
    return value;
  }

  private static GenericArrayData array(Object[] values) {
    Object[] items = new Object[values.length];
    for (int i = 0; i < items.length; i++) {
      items[i] = internal(values[i]);
    }
    return new GenericArrayData(items);
  }
}
