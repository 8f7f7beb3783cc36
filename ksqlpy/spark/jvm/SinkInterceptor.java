package ksqlpy;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.zip.CRC32;
import org.apache.kafka.clients.producer.ProducerInterceptor;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.header.Header;

/**
 * Takes what Spark's Kafka sink has no column for out of the last header {@code __rowtime}: the timestamp of the record,
 * and the coordinates of its source record.
 *
 * <p>The header holds milliseconds since 1970 as 8 bytes, big-endian (a negative one is none: no record can be older),
 * and the coordinates behind them, if there are any; they become the header {@code ksqlpy.at}, with 4 bytes ahead that
 * tell queries apart: CRC-32 of the client id, which is that of the query. Headers with coordinates that were copied
 * from a source record go. A record without {@code __rowtime} passes as it is.
 */
public final class SinkInterceptor implements ProducerInterceptor<byte[], byte[]> {
  private static final String ROWTIME = "__rowtime";
  static final String AT = "ksqlpy.at";

  private int own;

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
    List kept = null; // every result goes through here: no list where there is nothing for it
    for (int i = 0; i < all.length; i++) {
      if (i != last && !all[i].key().equals(AT)) {
        kept = kept == null ? new ArrayList(all.length) : kept;
        kept.add(all[i]);
      }
    }
    if (given.length > Long.BYTES) {
      Header at = coordinates(given);
      if (kept == null) {
        kept = Collections.singletonList(at);
      } else {
        kept.add(at);
      }
    }
    long rowtime = ByteBuffer.wrap(given).getLong();
    return new ProducerRecord<byte[], byte[]>(
        record.topic(),
        record.partition(),
        rowtime < 0 ? null : Long.valueOf(rowtime),
        record.key(),
        record.value(),
        (Iterable<Header>) kept);
  }

  private Header coordinates(byte[] given) {
    byte[] value = Arrays.copyOfRange(given, Long.BYTES - Integer.BYTES, given.length);
    ByteBuffer.wrap(value).putInt(own);
    return new Coordinates(value);
  }

  public void onAcknowledgement(RecordMetadata metadata, Exception error) {}

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
