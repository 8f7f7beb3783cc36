package ksqlpy.internals;

import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Functions whose results may be larger than what they are made of, and calls of which may stand in each other: twelve of
 * REPLACE make 10 to the power of 12 bytes of ten. What would have more than {@link #LONGEST} bytes or {@link #MOST} items
 * is null, and is not computed.
 */
public final class Bounded {
  /** Bytes of a text; a longer one fits no record. */
  private static final int LONGEST = 10 * 1000 * 1000;

  /** Items of an array. */
  private static final int MOST = 5 * 1000 * 1000;

  private static final byte[] NOTHING = {};

  private Bounded() {}

  /** REPLACE: Java's, which puts the new text around every character where the old one is empty. */
  public static UTF8String replace(UTF8String text, UTF8String old, UTF8String given) {
    if (old.numBytes() == 0) {
      long length = text.numBytes() + (text.numBytes() + 1L) * given.numBytes();
      return length > LONGEST ? null : UTF8String.fromString(text.toString().replace("", given.toString()));
    }
    byte[] from = text.getBytes();
    byte[] wanted = old.getBytes();
    int count = 0;
    for (int at = find(from, wanted, 0); at >= 0; at = find(from, wanted, at + wanted.length)) {
      count++;
    }
    byte[] put = given.getBytes();
    long length = from.length + (long) count * (put.length - wanted.length);
    if (count == 0) {
      return text;
    }
    if (length > LONGEST) {
      return null;
    }
    byte[] made = new byte[(int) length];
    int begin = 0;
    int to = 0;
    for (int at = find(from, wanted, 0); at >= 0; at = find(from, wanted, begin)) {
      System.arraycopy(from, begin, made, to, at - begin);
      to += at - begin;
      System.arraycopy(put, 0, made, to, put.length);
      to += put.length;
      begin = at + wanted.length;
    }
    System.arraycopy(from, begin, made, to, from.length - begin);
    return UTF8String.fromBytes(made);
  }

  private static int find(byte[] in, byte[] wanted, int begin) {
    int last = in.length - wanted.length;
    for (int i = begin; i <= last; i++) {
      if (in[i] == wanted[0]) {
        int k = 1;
        while (k < wanted.length && in[i + k] == wanted[k]) {
          k++;
        }
        if (k == wanted.length) {
          return i;
        }
      }
    }
    return -1;
  }

  /** The parts with a separator between; those that are null are left out. */
  public static UTF8String joined(UTF8String separator, ArrayData parts) {
    return joined(separator, parts, null);
  }

  /** The parts with a separator between, and a text in the place of those that are null. */
  public static UTF8String joinedWith(UTF8String separator, ArrayData parts, UTF8String instead) {
    return joined(separator, parts, instead);
  }

  private static UTF8String joined(UTF8String separator, ArrayData parts, UTF8String instead) {
    int count = parts.numElements();
    UTF8String[] given = new UTF8String[count];
    int found = 0;
    long length = 0;
    for (int i = 0; i < count && length <= LONGEST; i++) {
      UTF8String part = parts.isNullAt(i) ? instead : parts.getUTF8String(i);
      if (part != null) {
        length += part.numBytes() + (found == 0 ? 0 : separator.numBytes());
        given[found++] = part;
      }
    }
    if (length > LONGEST) {
      return null;
    }
    byte[] made = new byte[(int) length];
    int to = 0;
    byte[] between = separator.getBytes();
    for (int i = 0; i < found; i++) {
      if (i > 0) {
        System.arraycopy(between, 0, made, to, between.length);
        to += between.length;
      }
      given[i].writeToMemory(made, org.apache.spark.unsafe.Platform.BYTE_ARRAY_OFFSET + to);
      to += given[i].numBytes();
    }
    return UTF8String.fromBytes(made.length == 0 ? NOTHING : made);
  }

  /** The text, if it is not too long. */
  public static UTF8String text(UTF8String text) {
    return text.numBytes() > LONGEST ? null : text;
  }

  /** The bytes, if they are not too many. */
  public static byte[] bytes(byte[] bytes) {
    return bytes.length > LONGEST ? null : bytes;
  }

  /** The array, if it has not too many items. */
  public static ArrayData items(ArrayData items) {
    return items.numElements() > MOST ? null : items;
  }

  /** The array of texts, if it has not too many items, and these are not too long together. */
  public static ArrayData texts(ArrayData items) {
    long length = 0;
    for (int i = 0; i < items.numElements() && length <= LONGEST; i++) {
      length += items.isNullAt(i) ? 0 : items.getUTF8String(i).numBytes();
    }
    return length > LONGEST ? null : items(items);
  }

  /** The method that bounds values of a type: its name; null for a type without one. */
  public static String of(DataType type) {
    if (type.equals(DataTypes.StringType)) {
      return "text";
    }
    if (type.equals(DataTypes.BinaryType)) {
      return "bytes";
    }
    if (type instanceof org.apache.spark.sql.types.ArrayType array) {
      return array.elementType().equals(DataTypes.StringType) ? "texts" : "items";
    }
    return null;
  }
}
