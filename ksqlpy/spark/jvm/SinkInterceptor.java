package ksqlpy;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;
import java.util.zip.CRC32;
import org.apache.kafka.clients.producer.ProducerInterceptor;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeaders;

/**
 * Takes what Spark's Kafka sink has no column for out of the last header {@code __rowtime}: the timestamp of the record,
 * and the coordinates of its source record.
 *
 * <p>The header holds milliseconds since 1970 as 8 bytes, big-endian (a negative one is none: no record can be older),
 * and the coordinates behind them, if there are any; they become the header {@code ksqlpy.at}, with 4 bytes ahead that
 * tell queries apart: CRC-32 of the client id, which is that of the query. Headers with coordinates that were copied
 * from a source record go. A record without {@code __rowtime} passes as it is. Results that come fast go out in larger
 * requests.
 */
public final class SinkInterceptor implements ProducerInterceptor<byte[], byte[]> {
  private static final String ROWTIME = "__rowtime";
  static final String AT = "ksqlpy.at";

  /** After so many results it is looked how fast they come. */
  private static final int LOOK = 16;

  /** Nanoseconds from one result to the next, above which each goes out at once: 10,000 results a second. */
  private static final long SLOW = 100_000;

  /** Nanoseconds for which the sender rests, and those that it works at least in between. */
  private static final long REST = 1_000_000;

  private static final long WORK = 100_000;

  private int own;
  private int taken;
  private long since = System.nanoTime();

  public void configure(Map<String, ?> settings) {
    own = mark(String.valueOf(settings.get("client.id")));
  }

  /** What begins the coordinates of a query's results. */
  static int mark(String query) {
    CRC32 sum = new CRC32();
    sum.update(query.getBytes(StandardCharsets.UTF_8));
    return (int) sum.getValue();
  }

  public ProducerRecord<byte[], byte[]> onSend(ProducerRecord<byte[], byte[]> record) {
    Header[] all = record.headers().toArray();
    int last = all.length - 1;
    while (last >= 0 && !all[last].key().equals(ROWTIME)) {
      last--;
    }
    byte[] given = last < 0 ? null : all[last].value();
    if (given == null || given.length < Long.BYTES) {
      return record;
    }
    // Every result goes through here: arrays, and no lists that grow.
    Header[] kept = new Header[all.length];
    int count = 0;
    for (int i = 0; i < all.length; i++) {
      if (i != last && !all[i].key().equals(AT)) {
        kept[count++] = all[i];
      }
    }
    if (given.length > Long.BYTES) {
      kept[count++] = coordinates(given);
    }
    Header[] headers = count == kept.length ? kept : (Header[]) Arrays.copyOf(kept, count);
    long rowtime = ByteBuffer.wrap(given).getLong();
    return new ProducerRecord<byte[], byte[]>(
        record.topic(),
        record.partition(),
        rowtime < 0 ? null : Long.valueOf(rowtime),
        record.key(),
        record.value(),
        new RecordHeaders(headers));
  }

  private Header coordinates(byte[] given) {
    byte[] value = Arrays.copyOfRange(given, Long.BYTES - Integer.BYTES, given.length);
    ByteBuffer.wrap(value).putInt(own);
    return new Coordinates(value);
  }

  /**
   * Lets the sender rest a moment where results come fast, so that more of them go out in one request: a request costs
   * brokers and this machine as much as many results. Where they come slowly each goes out at once, which {@code
   * linger.ms} could not tell apart. It is the sender's thread that calls this.
   */
  public void onAcknowledgement(RecordMetadata metadata, Exception error) {
    if (++taken % LOOK != 0) {
      return;
    }
    long now = System.nanoTime();
    if (now - since < WORK) {
      return;
    }
    if (now - since < taken * SLOW) {
      LockSupport.parkNanos(REST);
      now = System.nanoTime();
    }
    since = now;
    taken = 0;
  }

  public void close() {}

  private static final class Coordinates implements Header {
    private final byte[] value;

    Coordinates(byte[] value) {
      this.value = value;
    }

    public String key() {
      return AT;
    }

    public byte[] value() {
      return value;
    }
  }
}
