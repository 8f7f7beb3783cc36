package ksqlpy.once;

import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.zip.CRC32;
import org.apache.kafka.common.utils.ByteUtils;

/**
 * Where a result came from, as it stands in the header {@value #HEADER} of its record. Other layouts would have another
 * name: records in topics keep what they have. {@code ksqlpy/spark/header.py} reads the same, and {@code
 * tests/jvm/header_vectors.json} holds both to what was ever written.
 *
 * <p>The header's value: INT mark; as varlongs place, offset, window and seen; then, where rows may have no result,
 * big-endian BIGINT hash of the group and for each partition of the source BIGINT offset of the last row that the group
 * had seen (-1 without one); at its end the {@link Key}'s tag of all that, which versions up to 0.1 did not write.
 *
 * @param mark tells the queries apart that write one topic, see {@link #mark(String)}
 * @param place of the source record: {@code index of the topic << 16 | partition}, room for 32,768 topics
 * @param offset of the source record
 * @param window start of the window, or the number of the result, 0 without one
 * @param seen for each joined table the offset of its last record that the row saw, -1 without one
 * @param group hash of the group, and what it had seen; empty without a group
 */
public record Coordinates(int mark, int place, long offset, long window, long[] seen, long[] group) {
  public static final String HEADER = "ksqlpy.at";

  /** What begins the header of a query's results: CRC-32 of its id. */
  public static int mark(String query) {
    CRC32 sum = new CRC32();
    sum.update(query.getBytes(StandardCharsets.UTF_8));
    return (int) sum.getValue();
  }

  /** Bytes that {@link #write} takes. */
  public static int size(int place, long offset, long window) {
    return ByteUtils.sizeOfVarlong(place) + ByteUtils.sizeOfVarlong(offset) + ByteUtils.sizeOfVarlong(window);
  }

  /** Writes what stands between mark and seen. */
  public static void write(ByteBuffer to, int place, long offset, long window) {
    ByteUtils.writeVarlong(place, to);
    ByteUtils.writeVarlong(offset, to);
    ByteUtils.writeVarlong(window, to);
  }

  /** Whether the value of a header says that it is from the query with this mark, which anybody may write. */
  public static boolean isOf(int mark, byte[] header) {
    return header != null && header.length > Integer.BYTES && ByteBuffer.wrap(header).getInt() == mark;
  }

  /**
   * What the value of a header says, or null if nothing that a query ever wrote; {@code tables}: how many joined tables
   * the query has; {@code length}: of what stands ahead of the tag.
   */
  public static Coordinates read(byte[] header, int length, int tables) {
    try {
      Coordinates found = parse(ByteBuffer.wrap(header, 0, length), tables);
      return found.place < 0 || found.offset < 0 ? null : found;
    } catch (IllegalArgumentException | BufferUnderflowException malformed) {
      return null;
    }
  }

  private static Coordinates parse(ByteBuffer from, int tables) {
    int mark = from.getInt();
    int place = (int) ByteUtils.readVarlong(from);
    long offset = ByteUtils.readVarlong(from);
    long window = ByteUtils.readVarlong(from);
    long[] seen = new long[tables];
    int known = 0;
    while (known < tables && from.hasRemaining()) {
      seen[known++] = ByteUtils.readVarlong(from);
    }
    long[] group = new long[from.remaining() / Long.BYTES];
    for (int i = 0; i < group.length; i++) {
      group[i] = from.getLong();
    }
    return new Coordinates(mark, place, offset, window, known == tables ? seen : Arrays.copyOf(seen, known), group);
  }
}
