package ksqlpy.sink;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Map;
import ksqlpy.metrics.ClientFigures;
import ksqlpy.metrics.Latency;
import ksqlpy.metrics.LatencySampler;
import ksqlpy.once.Coordinates;
import ksqlpy.once.Key;
import org.apache.kafka.clients.producer.ProducerInterceptor;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.header.Header;

/**
 * Takes apart the value of each record that Spark's Kafka sink sends, see {@link SinkValue}: its timestamp is the rowtime
 * (one below 0 is none: no record can be older), and the coordinates, if there are any, become the header {@link
 * Coordinates#HEADER}, with the mark of the query ahead, whose id is that of the client, and the tag of its {@link Key}
 * behind. Coordinates that were copied from a source record go. When the brokers have a record, it counts in the query's {@link Latency}.
 */
public final class SinkInterceptor implements ProducerInterceptor<byte[], byte[]> {
  private int own;
  private Key key; // null where results need no tag
  private LatencySampler latency;

  public void configure(Map<String, ?> settings) {
    latency = new LatencySampler(Latency.of(String.valueOf(settings.get(ClientFigures.QUERY))));
    own = Coordinates.mark(String.valueOf(settings.get("client.id")));
    Object name = settings.get(Key.SETTING);
    key = name == null ? null : Key.named(name.toString());
  }

  public ProducerRecord<byte[], byte[]> onSend(ProducerRecord<byte[], byte[]> record) {
    byte[] given = record.value();
    ByteBuffer bytes = ByteBuffer.wrap(given);
    int end = given.length - Integer.BYTES;
    int length = bytes.getInt(end);
    int begin = end - (length < 0 ? length - SinkValue.NONE : length);
    long rowtime = bytes.getLong(begin);
    ProducerRecord<byte[], byte[]> result =
        new ProducerRecord<>(
            record.topic(),
            record.partition(),
            rowtime < 0 ? null : Long.valueOf(rowtime),
            record.key(),
            length < 0 ? null : Arrays.copyOf(given, begin));
    Header[] headers = record.headers().toArray(); // mostly none
    for (int i = 0; i < headers.length; i++) {
      if (!headers[i].key().equals(Coordinates.HEADER)) {
        result.headers().add(headers[i]);
      }
    }
    int coordinates = begin + Long.BYTES;
    if (coordinates < end) {
      int ahead = coordinates - Integer.BYTES;
      byte[] value = new byte[end - ahead + (key == null ? 0 : Key.TAG)];
      System.arraycopy(given, ahead, value, 0, end - ahead);
      ByteBuffer.wrap(value).putInt(own);
      if (key != null) {
        key.sign(value);
      }
      result.headers().add(new Own(value));
    }
    return result;
  }

  public void onAcknowledgement(RecordMetadata metadata, Exception error) {
    if (error == null) { // without one, it is always the same thread of the producer that calls
      latency.taken(metadata.timestamp());
    }
  }

  public void close() {}

  private record Own(byte[] value) implements Header {
    public String key() {
      return Coordinates.HEADER;
    }
  }
}
