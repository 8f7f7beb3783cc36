package ksqlpy.speedups;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.zip.DeflaterOutputStream;
import java.util.zip.InflaterInputStream;

/**
 * Code that Spark has generated, compiled: its text, the bytes of its classes by their names, and Spark's three figures
 * of their sizes ({@code ByteCodeStats}).
 */
public record CompiledCode(String text, Map<String, byte[]> classes, int[] sizes) {

  /** The format of {@link #packed()}: another one is not read. */
  private static final int FORMAT = 1;

  /** All of it, compressed; the compression has a checksum. */
  public byte[] packed() throws IOException {
    ByteArrayOutputStream packed = new ByteArrayOutputStream();
    try (DataOutputStream out = new DataOutputStream(new DeflaterOutputStream(packed))) {
      out.writeInt(FORMAT);
      write(text.getBytes(StandardCharsets.UTF_8), out);
      for (int size : sizes) {
        out.writeInt(size);
      }
      out.writeInt(classes.size());
      for (Map.Entry<String, byte[]> one : classes.entrySet()) {
        out.writeUTF(one.getKey());
        write(one.getValue(), out);
      }
    }
    return packed.toByteArray();
  }

  /** What {@link #packed()} gave. Throws IOException where it is damaged. */
  public static CompiledCode unpacked(byte[] packed) throws IOException {
    try (DataInputStream in = new DataInputStream(new InflaterInputStream(new ByteArrayInputStream(packed)))) {
      int format = in.readInt();
      if (format != FORMAT) {
        throw new IOException("format " + format);
      }
      String text = new String(read(in), StandardCharsets.UTF_8);
      int[] sizes = {in.readInt(), in.readInt(), in.readInt()};
      Map<String, byte[]> classes = new LinkedHashMap<>();
      for (int left = in.readInt(); left > 0; left--) {
        classes.put(in.readUTF(), read(in));
      }
      if (in.read() != -1) { // the checksum is looked at where the end is read
        throw new IOException("more than there should be");
      }
      return new CompiledCode(text, classes, sizes);
    }
  }

  private static void write(byte[] bytes, DataOutputStream out) throws IOException {
    out.writeInt(bytes.length);
    out.write(bytes);
  }

  private static byte[] read(DataInputStream in) throws IOException {
    int length = in.readInt();
    if (length < 0) {
      throw new IOException("a length of " + length);
    }
    byte[] bytes = in.readNBytes(length);
    if (bytes.length < length) {
      throw new IOException("less than there should be");
    }
    return bytes;
  }
}
