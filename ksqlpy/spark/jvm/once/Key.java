package ksqlpy.once;

import com.google.common.hash.HashFunction;
import com.google.common.hash.Hashing;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.HexFormat;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.TaskContext;

/**
 * The secret key of a query, with which it signs the {@link Coordinates} of its results: SipHash-2-4 of all that stands
 * ahead of the tag, in 8 bytes. Who may write the topic, but does not read the checkpoint, cannot make a header that
 * counts.
 *
 * <p>The engine tells keys once, by names that say nothing of them. Specifications and settings have the names. Executors
 * get the keys with their tasks, as a property that Spark's event log leaves out.
 */
public final class Key {
  /** Bytes of a tag. */
  public static final int TAG = Long.BYTES;

  /** The setting of a producer that names the key with which its results are signed. */
  public static final String SETTING = "ksqlpy.key";

  /** Ahead of the name, the property of tasks with the key in hexadecimal. Spark redacts by the word secret. */
  public static final String PROPERTY = "ksqlpy.key.secret.";

  private static final Map<String, Key> KNOWN = new ConcurrentHashMap<>();

  private final HashFunction function;

  /** {@code secret}: 16 bytes in hexadecimal. */
  Key(String secret) {
    ByteBuffer halves = ByteBuffer.wrap(HexFormat.of().parseHex(secret)).order(ByteOrder.LITTLE_ENDIAN);
    function = Hashing.sipHash24(halves.getLong(), halves.getLong());
  }

  /** Knows a key from now on. */
  public static void keep(String name, String secret) {
    KNOWN.put(name, new Key(secret));
  }

  /** The key of this name; throws IllegalStateException where nobody has told it. */
  public static Key named(String name) {
    Key known = KNOWN.get(name);
    if (known == null) {
      TaskContext task = TaskContext.get();
      String secret = task == null ? null : task.getLocalProperty(PROPERTY + name);
      if (secret == null) {
        throw new IllegalStateException("this JVM was not told of key " + name);
      }
      known = new Key(secret);
      KNOWN.put(name, known);
    }
    return known;
  }

  /** Writes the tag into the last bytes of a header, which are there for it. */
  public void sign(byte[] header) {
    int length = header.length - TAG;
    ByteBuffer.wrap(header).putLong(length, tag(header, length));
  }

  /** Whether a header ends with the tag of what stands ahead of it. */
  public boolean signed(byte[] header) {
    int length = header.length - TAG;
    return length > 0 && ByteBuffer.wrap(header).getLong(length) == tag(header, length);
  }

  /** SipHash's bytes, the lowest first, as a big-endian number. */
  private long tag(byte[] header, int length) {
    return Long.reverseBytes(function.hashBytes(header, 0, length).asLong());
  }
}
