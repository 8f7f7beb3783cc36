package ksqlpy.functions;

import java.util.Arrays;
import java.util.Comparator;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Texts in Java's order, by UTF-16 units: {@code text_key(STRUCT<STRING>) → BINARY} gives bytes in that order, {@code
 * key_text(STRUCT<BINARY>) → STRING} the text of such bytes.
 *
 * <p>The order of UTF-8 bytes, which is Spark's, differs from it in one thing: units from U+E000 on come behind characters
 * beyond the basic plane, whose units are surrogates. They begin with the bytes EE and EF, the others with F0 to F4; bytes
 * above do not occur. So EE and EF become F5 and F6.
 */
public final class TextOrder implements ScalarFunction<Object> {
  private static final long serialVersionUID = 1L;

  private static final int SHIFT = 0xF5 - 0xEE;

  private final boolean key;
  private final StructType input;

  TextOrder(String name, StructType arguments) {
    key = name.equals("text_key");
    input = arguments;
    if (arguments.length() != 1) {
      throw new UnsupportedOperationException(name + " takes one argument");
    }
  }

  public Object invoke(InternalRow given) {
    if (given.isNullAt(0)) {
      return null;
    }
    return key ? key(given.getUTF8String(0)) : UTF8String.fromBytes(moved(given.getBinary(0), 0xF5, -SHIFT));
  }

  private static byte[] key(UTF8String text) {
    return moved(text.getBytes(), 0xEE, SHIFT);
  }

  /** The bytes with {@code first} and the one behind it moved; the same array if there is none. */
  private static byte[] moved(byte[] bytes, int first, int by) {
    byte[] changed = null;
    for (int i = 0; i < bytes.length; i++) {
      int b = bytes[i] & 0xFF;
      if (b == first || b == first + 1) {
        changed = changed == null ? bytes.clone() : changed;
        changed[i] = (byte) (b + by);
      }
    }
    return changed == null ? bytes : changed;
  }

  /** Compares UTF8Strings. */
  public static final Comparator<Object> BY_UNITS =
      (left, right) -> Arrays.compareUnsigned(key((UTF8String) left), key((UTF8String) right));

  public DataType[] inputTypes() {
    return new DataType[] {input};
  }

  public DataType resultType() {
    return key ? DataTypes.BinaryType : DataTypes.StringType;
  }

  public String name() {
    return key ? "text_key" : "key_text";
  }

  public String canonicalName() {
    return "ksqlpy.exact." + name();
  }
}
