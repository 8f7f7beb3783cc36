package ksqlpy.python;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.Locale;

/** Bytes on their way to a worker or from it, and how far they are written or read. One is used for all calls. */
final class Frame {
  private static final VarHandle INTS = MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.BIG_ENDIAN);
  private static final VarHandle LONGS = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);

  /** What is kept from one call to the next; a larger one is given up. */
  private static final int KEPT = 1 << 20;

  private static final int FIRST = 1 << 14;
  private static final int MOST = 1 << 26;

  byte[] bytes = new byte[FIRST];
  int at;
  private ByteBuffer view = ByteBuffer.wrap(bytes);

  /** Begins anew. */
  void clear() {
    at = 0;
    if (bytes.length > KEPT) {
      bytes = new byte[FIRST];
    }
  }

  /** Has room for so many bytes more. Throws CallFailed where that is more than one value may have. */
  void room(int more) {
    int wanted = at + more;
    if (wanted > bytes.length) {
      if (wanted > MOST || wanted < 0) {
        throw new CallFailed(
            "Arguments",
            String.format(
                Locale.ROOT, "the arguments are too large: %,d bytes or more, and %,d are allowed", at + (long) more, MOST),
            "");
      }
      bytes = Arrays.copyOf(bytes, Math.max(wanted, Math.min(MOST, bytes.length * 2)));
    }
  }

  void putByte(int value) {
    room(1);
    bytes[at++] = (byte) value;
  }

  void putInt(int value) {
    room(Integer.BYTES);
    INTS.set(bytes, at, value);
    at += Integer.BYTES;
  }

  void putLong(long value) {
    room(Long.BYTES);
    LONGS.set(bytes, at, value);
    at += Long.BYTES;
  }

  void putBytes(byte[] value) {
    putInt(value.length);
    room(value.length);
    System.arraycopy(value, 0, bytes, at, value.length);
    at += value.length;
  }

  /** Sets a number that was put before. */
  void setInt(int place, int value) {
    INTS.set(bytes, place, value);
  }

  int getInt() {
    int value = (int) INTS.get(bytes, at);
    at += Integer.BYTES;
    return value;
  }

  long getLong() {
    long value = (long) LONGS.get(bytes, at);
    at += Long.BYTES;
    return value;
  }

  /** A number of bytes, or of items, of which there are no more than bytes. */
  int getCount() {
    int count = getInt();
    if (count < 0 || count > bytes.length - at) {
      throw new IllegalStateException("a count of " + count);
    }
    return count;
  }

  byte[] getBytes() {
    int length = getCount();
    byte[] value = Arrays.copyOfRange(bytes, at, at + length);
    at += length;
    return value;
  }

  /** The bytes from one place to another, to be sent, or to be filled. */
  ByteBuffer view(int from, int to) {
    if (view.array() != bytes) {
      view = ByteBuffer.wrap(bytes);
    }
    view.limit(to).position(from);
    return view;
  }
}
