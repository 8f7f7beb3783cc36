package ksqlpy.once;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;

/** The vectors of header_vectors.json, which the tests in Python read, too. */
public record Vectors(String what, String query, long rowtime, byte[] value, At at, byte[] sent, byte[] header, byte[] tag) {
  /** The coordinates; group is empty without one. */
  public record At(int place, long offset, long window, long[] seen, long[] group) {
    /** The group as plans pass it: null without one. */
    public byte[] groupBytes() {
      if (group.length == 0) {
        return null;
      }
      ByteBuffer bytes = ByteBuffer.allocate(group.length * Long.BYTES);
      for (long number : group) {
        bytes.putLong(number);
      }
      return bytes.array();
    }
  }

  /** The header with its tag. */
  public byte[] signed() {
    byte[] signed = Arrays.copyOf(header, header.length + tag.length);
    System.arraycopy(tag, 0, signed, header.length, tag.length);
    return signed;
  }

  private static JsonNode file() throws IOException {
    return new ObjectMapper().readTree(Path.of(System.getProperty("cases"), "header_vectors.json").toFile());
  }

  /** The key of the tags, in hexadecimal. */
  public static String key() throws IOException {
    return file().get("key").asText();
  }

  public static List<Vectors> all() throws IOException {
    List<Vectors> all = new ArrayList<>();
    for (JsonNode v : file().get("vectors")) {
      all.add(
          new Vectors(
              v.get("what").asText(),
              v.get("query").asText(),
              v.get("rowtime").asLong(),
              bytes(v.get("value")),
              v.get("at").isNull() ? null : at(v.get("at")),
              bytes(v.get("sent")),
              bytes(v.get("header")),
              bytes(v.get("tag"))));
    }
    return all;
  }

  private static At at(JsonNode at) {
    return new At(
        at.get("place").intValue(),
        at.get("offset").longValue(),
        at.get("window").longValue(),
        longs(at.get("seen")),
        longs(at.get("group")));
  }

  private static long[] longs(JsonNode numbers) {
    long[] longs = new long[numbers.size()];
    for (int i = 0; i < longs.length; i++) {
      longs[i] = numbers.get(i).longValue();
    }
    return longs;
  }

  private static byte[] bytes(JsonNode hex) {
    return hex.isNull() ? null : HexFormat.of().parseHex(hex.asText());
  }

  @Override
  public String toString() {
    return what;
  }
}
