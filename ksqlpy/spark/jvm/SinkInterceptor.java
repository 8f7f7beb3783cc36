package ksqlpy;

import java.nio.ByteBuffer;
import java.util.Map;
import org.apache.kafka.clients.producer.ProducerInterceptor;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.Headers;

/**
 * Gives a record the timestamp that its header {@code __rowtime} holds, and takes the header away; of headers with
 * source coordinates ({@code ksqlpy.at:…}) it leaves the last one, since others were copied from the source record.
 *
 * <p>Spark's Kafka sink has no column for the timestamp of a record, but it has headers, and the producer lets an
 * interceptor exchange the record. The header holds milliseconds since 1970 as 8 bytes, big-endian. Anything else
 * under that name is somebody else's, and a record cannot be older than 1970: such records pass as they are.
 */
public final class SinkInterceptor implements ProducerInterceptor<byte[], byte[]> {
  private static final String ROWTIME = "__rowtime";
  private static final String AT = "ksqlpy.at:";

  public ProducerRecord<byte[], byte[]> onSend(ProducerRecord<byte[], byte[]> record) {
    onlyOwn(record.headers());
    Header header = record.headers().lastHeader(ROWTIME);
    if (header == null || header.value() == null || header.value().length != Long.BYTES) {
      return record;
    }
    long rowtime = ByteBuffer.wrap(header.value()).getLong();
    if (rowtime < 0) {
      return record;
    }
    record.headers().remove(ROWTIME);
    return new ProducerRecord<byte[], byte[]>(
        record.topic(), record.partition(), Long.valueOf(rowtime), record.key(), record.value(), record.headers());
  }

  private static void onlyOwn(Headers headers) {
    String own = null;
    Header[] all = headers.toArray();
    for (int i = all.length - 1; i >= 0; i--) {
      String key = all[i].key();
      if (key.startsWith(AT)) {
        if (own == null) {
          own = key;
        } else if (!key.equals(own)) {
          headers.remove(key);
        }
      }
    }
  }

  public void onAcknowledgement(RecordMetadata metadata, Exception error) {}

  public void configure(Map<String, ?> settings) {}

  public void close() {}
}
