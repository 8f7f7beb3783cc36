package ksqlpy.functions;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Locale;
import org.apache.commons.codec.binary.Base64;
import org.apache.commons.codec.binary.Hex;
import org.apache.spark.sql.catalyst.InternalRow;

/** Between texts, bytes and numbers. */
public final class Encodings {
  private Encodings() {}

  private static final int HEX = 0;
  private static final int UTF8 = 1;
  private static final int ASCII = 2;
  private static final int BASE64 = 3;

  private static int encoding(String name) {
    switch (name.toLowerCase(Locale.ROOT)) {
      case "hex":
        return HEX;
      case "utf8":
        return UTF8;
      case "ascii":
        return ASCII;
      case "base64":
        return BASE64;
      default:
        throw new IllegalArgumentException("no such encoding: " + name);
    }
  }

  private static byte[] decode(String text, int encoding) throws Exception {
    switch (encoding) {
      case HEX:
        return Hex.decodeHex(digits(text));
      case UTF8:
        return text.getBytes(StandardCharsets.UTF_8);
      case ASCII:
        return text.getBytes(StandardCharsets.US_ASCII);
      default:
        return Base64.decodeBase64(text); // what is no digit is skipped
    }
  }

  /** The hexadecimal digits of {@code 0x0a}, which may be odd in number, {@code X'0a'} or {@code 0a}. */
  private static String digits(String text) {
    if (text.startsWith("0x")) {
      return text.length() % 2 == 0 ? text.substring(2) : "0" + text.substring(2);
    }
    boolean quoted = text.length() > 2 && (text.startsWith("X'") || text.startsWith("x'")) && text.endsWith("'");
    return quoted ? text.substring(2, text.length() - 1) : text;
  }

  private static String encode(byte[] bytes, int encoding) {
    switch (encoding) {
      case HEX:
        return Hex.encodeHexString(bytes);
      case UTF8:
        return new String(bytes, StandardCharsets.UTF_8);
      case ASCII:
        return new String(bytes, StandardCharsets.US_ASCII);
      default:
        return Base64.encodeBase64String(bytes);
    }
  }

  /** ENCODE: {@code (text, its encoding, the wanted one)}. */
  static final class Encode extends Scalar {
    Encode() {
      super("string", "string, string, string");
    }

    Object of(InternalRow a) throws Exception {
      int from = encoding(text(a, 1));
      int to = encoding(text(a, 2));
      if (from == to) {
        throw new IllegalArgumentException("both encodings are the same");
      }
      return encode(decode(text(a, 0), from), to);
    }
  }

  /** TO_BYTES: {@code (text, its encoding)}. */
  static final class ToBytes extends Scalar {
    ToBytes() {
      super("binary", "string, string");
    }

    Object of(InternalRow a) throws Exception {
      int encoding = encoding(text(a, 1));
      return encoding == BASE64
          ? java.util.Base64.getMimeDecoder().decode(text(a, 0)) // half a byte is an error, unlike in ENCODE
          : decode(text(a, 0), encoding);
    }
  }

  /** FROM_BYTES: {@code (bytes, the encoding of the text)}; unlike ENCODE with capital digits, and lines of base64. */
  static final class FromBytes extends Scalar {
    FromBytes() {
      super("string", "binary, string");
    }

    Object of(InternalRow a) {
      byte[] bytes = a.getBinary(0);
      int encoding = encoding(text(a, 1));
      if (encoding == HEX) {
        return Hex.encodeHexString(bytes, false);
      }
      return encoding == BASE64 ? java.util.Base64.getMimeEncoder().encodeToString(bytes) : encode(bytes, encoding);
    }
  }

  private abstract static class Number extends Scalar {
    private final int length;

    Number(String type, int length) {
      super(type, "binary, string");
      this.length = length;
    }

    Object of(InternalRow a) {
      byte[] bytes = a.getBinary(0);
      if (bytes.length != length) {
        throw new IllegalArgumentException("not " + length + " bytes");
      }
      String order = text(a, 1);
      if (order.equals("LITTLE_ENDIAN")) {
        return of(ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN));
      }
      if (order.equals("BIG_ENDIAN")) {
        return of(ByteBuffer.wrap(bytes));
      }
      throw new IllegalArgumentException("no such order of bytes: " + order);
    }

    abstract Object of(ByteBuffer bytes);
  }

  /** INT_FROM_BYTES: {@code (bytes, their order)}. */
  static final class Int extends Number {
    Int() {
      super("int", Integer.BYTES);
    }

    Object of(ByteBuffer bytes) {
      return Integer.valueOf(bytes.getInt());
    }
  }

  /** BIGINT_FROM_BYTES. */
  static final class Bigint extends Number {
    Bigint() {
      super("bigint", Long.BYTES);
    }

    Object of(ByteBuffer bytes) {
      return Long.valueOf(bytes.getLong());
    }
  }

  /** DOUBLE_FROM_BYTES. */
  static final class Double extends Number {
    Double() {
      super("double", Long.BYTES);
    }

    Object of(ByteBuffer bytes) {
      return java.lang.Double.valueOf(bytes.getDouble());
    }
  }

  /** SPLIT of bytes: {@code (bytes, delimiter)}; an empty delimiter splits into single bytes. */
  static final class Split extends Scalar {
    Split() {
      super("array<binary>", "binary, binary");
    }

    Object of(InternalRow a) {
      byte[] bytes = a.getBinary(0);
      byte[] delimiter = a.getBinary(1);
      ArrayList<byte[]> parts = new ArrayList<>();
      int begin = 0;
      if (delimiter.length == 0) {
        for (; begin < bytes.length - 1; begin++) {
          parts.add(new byte[] {bytes[begin]});
        }
      } else {
        for (int at = 0; at <= bytes.length - delimiter.length; ) {
          if (stands(delimiter, bytes, at)) {
            parts.add(Arrays.copyOfRange(bytes, begin, at));
            at += delimiter.length;
            begin = at;
          } else {
            at++;
          }
        }
      }
      parts.add(Arrays.copyOfRange(bytes, begin, bytes.length));
      return parts;
    }

    private static boolean stands(byte[] delimiter, byte[] bytes, int at) {
      for (int i = 0; i < delimiter.length; i++) {
        if (bytes[at + i] != delimiter[i]) {
          return false;
        }
      }
      return true;
    }
  }
}
