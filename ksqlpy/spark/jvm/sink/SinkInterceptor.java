package ksqlpy.sink;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Map;
import ksqlpy.metrics.ClientFigures;
import ksqlpy.metrics.Latency;
import ksqlpy.metrics.LatencySampler;
import ksqlpy.once.Coordinates;
import ksqlpy.once.Key;
import ksqlpy.tasks.Upstream;
import org.apache.kafka.clients.producer.ProducerInterceptor;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.errors.RecordBatchTooLargeException;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.apache.kafka.common.header.Header;

/**
 * Takes apart the value of each record that Spark's Kafka sink sends, see {@link SinkValue}: its timestamp is the rowtime
 * (one below 0 is none: no record can be older), and the coordinates, if there are any, become the header {@link
 * Coordinates#HEADER}, with the mark of the query ahead, whose id is that of the client, and the tag of its {@link Key}
 * behind. Coordinates that were copied from a source record go, and those with a place below 0 are for {@link
 * DeadLetters} only. A result that is too large for its topic is sent as a dead letter. When the brokers have a record, it
 * counts in the query's {@link Latency}.
 */
public final class SinkInterceptor implements ProducerInterceptor<byte[], byte[]> {
  private int own;
  private Key key; // null where results need no tag
  private LatencySampler latency;
  private String query;
  private Upstream.Sink sink;
  private Limits given;
  private Sizes sizes;

  public void configure(Map<String, ?> settings) {
    query = String.valueOf(settings.get(ClientFigures.QUERY));
    sink = Upstream.sink(query);
    sizes = new Sizes(settings);
    Object limits = settings.get(Limits.SETTING);
    try {
      given = limits == null ? null : Limits.read(limits.toString());
    } catch (IOException e) {
      throw new IllegalArgumentException("the limits of query " + query + " cannot be read: " + e, e);
    }
    latency = new LatencySampler(Latency.of(query));
    own = Coordinates.mark(String.valueOf(settings.get("client.id")));
    Object name = settings.get(Key.SETTING);
    key = name == null ? null : Key.named(name.toString());
  }

  public ProducerRecord<byte[], byte[]> onSend(ProducerRecord<byte[], byte[]> record) {
    sink.sends();
    byte[] sent = record.value();
    ByteBuffer bytes = ByteBuffer.wrap(sent);
    int end = sent.length - Integer.BYTES;
    int length = bytes.getInt(end);
    int begin = end - (length < 0 ? length - SinkValue.NONE : length);
    long rowtime = bytes.getLong(begin);
    ProducerRecord<byte[], byte[]> result =
        new ProducerRecord<>(
            record.topic(),
            record.partition(),
            rowtime < 0 ? null : Long.valueOf(rowtime),
            record.key(),
            length < 0 ? null : Arrays.copyOf(sent, begin));
    Header[] headers = record.headers().toArray(); // mostly none
    long size = sent.length + Sizes.AROUND + (record.key() == null ? 0 : record.key().length);
    for (int i = 0; i < headers.length; i++) {
      if (!headers[i].key().equals(Coordinates.HEADER)) {
        result.headers().add(headers[i]);
        size += Sizes.most(headers[i]);
      }
    }
    int coordinates = begin + Long.BYTES;
    byte[] at = null;
    if (coordinates < end) {
      int ahead = coordinates - Integer.BYTES;
      at = new byte[end - ahead + (key == null ? 0 : Key.TAG)];
      System.arraycopy(sent, ahead, at, 0, end - ahead);
      ByteBuffer.wrap(at).putInt(own);
      if (key != null) {
        key.sign(at);
        size += Key.TAG;
      }
      if ((at[Integer.BYTES] & 1) == 0) { // a varlong's lowest bit is its sign
        result.headers().add(new Own(at));
      }
    }
    Limits limits = limits();
    return limits == null ? result : DeadLetters.instead(result, size, at, key, limits, sizes);
  }

  private Limits limits() {
    return given != null ? given : Limits.of(query);
  }

  public void onAcknowledgement(RecordMetadata metadata, Exception error) {
    sink.answers();
    if (error == null) { // without one, it is always the same thread of the producer that calls
      latency.taken(metadata.timestamp());
    } else if (error instanceof RecordTooLargeException || error instanceof RecordBatchTooLargeException) {
      Limits limits = limits();
      Limits.Topic topic = limits == null || metadata == null ? null : limits.topic(metadata.topic());
      if (topic != null) {
        topic.refused();
      }
    }
  }

  public void close() {
    sink.close();
  }

  private record Own(byte[] value) implements Header {
    public String key() {
      return Coordinates.HEADER;
    }
  }
}
