package ksqlpy.internals;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.UUID;
import org.apache.kafka.common.InvalidRecordException;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.utils.ByteUtils;
import org.apache.kafka.common.utils.Utils;

/**
 * A limit on the size of records that consumers of this JVM take out of compressed batches: 12 KB of zstd may be a record
 * of 400 MB, and Kafka's consumer makes room for it before anybody is asked. Of a larger one nothing is kept but its
 * place and time, and a header that says how large it is.
 *
 * <p>Kafka has no setting for it. So the class that reads records, {@code DefaultRecord}, is loaded with two calls
 * replaced, see {@link Changed}: that of the length of a record, and that of its bytes.
 */
public final class Unpacked {

  /** The header with the size; nobody else can know its name. */
  private static final String HEADER = "ksqlpy.unpacked." + UUID.randomUUID();

  /** A record in the place of one that is too large, on its way from {@link #length} to {@link #read}. */
  private static final ThreadLocal<byte[]> INSTEAD = new ThreadLocal<>();

  private static final boolean INSTALLED = install();

  private static volatile long most = Long.MAX_VALUE;

  private Unpacked() {}

  /** Sees to it that consumers keep to the limit; to be called before Kafka's clients are used, else there is none. */
  public static boolean isInstalled() {
    return INSTALLED;
  }

  /** The limit, in bytes of a record, from now on. */
  public static void limit(long bytes) {
    most = bytes;
  }

  /** The size of a record that was larger than the limit, in bytes; -1 of any other. */
  public static long size(Headers headers) {
    Header found = headers.lastHeader(HEADER);
    return found == null ? -1 : Long.parseLong(new String(found.value(), StandardCharsets.US_ASCII));
  }

  /** A copy of the headers of a record, but that with its size. */
  public static Headers without(Headers headers) {
    RecordHeaders copy = new RecordHeaders(headers);
    copy.remove(HEADER);
    return copy;
  }

  private static boolean install() {
    return Changed.load(
        TimestampType.class,
        "org.apache.kafka.common.record.DefaultRecord",
        "readFrom(Ljava/io/InputStream;",
        Unpacked.class,
        List.of(
            new Changed.Call("org/apache/kafka/common/utils/ByteUtils.readVarint(Ljava/io/InputStream;)I", "length"),
            new Changed.Call(
                "org/apache/kafka/common/utils/Utils.readFully(Ljava/io/InputStream;Ljava/nio/ByteBuffer;)I", "read")));
  }

  /** The length of the next record, as it will be {@link #read}. Called by {@code DefaultRecord}. */
  public static int length(InputStream in) throws IOException {
    int length = ByteUtils.readVarint(in);
    if (length <= most) {
      return length;
    }
    byte[] instead = pass(in, length);
    INSTEAD.set(instead);
    return instead.length;
  }

  /** Reads the record whose {@link #length} was asked for. Called by {@code DefaultRecord}. */
  public static int read(InputStream in, ByteBuffer to) throws IOException {
    byte[] instead = INSTEAD.get();
    if (instead == null) {
      return Utils.readFully(in, to);
    }
    INSTEAD.remove();
    to.put(instead);
    return instead.length;
  }

  /** Reads past a record of this length; gives one without key and value, as KIP-98 has records. */
  private static byte[] pass(InputStream in, int length) throws IOException {
    Counted counted = new Counted(in);
    ByteArrayOutputStream made = new ByteArrayOutputStream();
    DataOutputStream to = new DataOutputStream(made);
    to.writeByte(counted.read()); // attributes
    ByteUtils.writeVarlong(ByteUtils.readVarlong(counted), to); // time
    ByteUtils.writeVarint(ByteUtils.readVarint(counted), to); // offset
    byte[] buffer = new byte[64 << 10];
    while (counted.count < length) {
      if (counted.read(buffer, 0, (int) Math.min(buffer.length, length - counted.count)) < 0) {
        throw new InvalidRecordException("a record ends before its " + length + " bytes");
      }
    }
    ByteUtils.writeVarint(-1, to); // no key
    ByteUtils.writeVarint(-1, to); // no value
    ByteUtils.writeVarint(1, to);
    writeText(HEADER, to);
    writeText(String.valueOf(length), to);
    return made.toByteArray();
  }

  private static void writeText(String text, DataOutputStream to) throws IOException {
    byte[] bytes = text.getBytes(StandardCharsets.US_ASCII);
    ByteUtils.writeVarint(bytes.length, to);
    to.write(bytes);
  }

  /** Counts what is read. */
  private static final class Counted extends InputStream {
    private final InputStream in;
    private long count = 0;

    Counted(InputStream in) {
      this.in = in;
    }

    @Override
    public int read() throws IOException {
      int found = in.read();
      count += found < 0 ? 0 : 1;
      return found;
    }

    @Override
    public int read(byte[] to, int from, int most) throws IOException {
      int found = in.read(to, from, most);
      count += Math.max(0, found);
      return found;
    }
  }
}
