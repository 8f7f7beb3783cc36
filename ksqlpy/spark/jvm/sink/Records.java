package ksqlpy.sink;

import java.util.Map;
import java.util.concurrent.ExecutionException;
import ksqlpy.clients.Connections;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;

/** Single records that librdkafka cannot write: it takes the time 0 for none, and writes the present one. */
public final class Records {
  private Records() {}

  /**
   * Writes a record with this time in ms since 1970, and waits until the brokers have it. Returns null, or why they do
   * not take it. {@code own} are settings of the producer that come before those of the connection.
   */
  public static String write(
      String connection,
      Map<String, Object> own,
      String topic,
      byte[] key,
      byte[] value,
      long time,
      Map<String, byte[]> headers)
      throws InterruptedException {
    Map<String, Object> settings = Connections.settings(connection, "producer");
    settings.putAll(own);
    KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(settings);
    ProducerRecord<byte[], byte[]> record = new ProducerRecord<>(topic, null, Long.valueOf(time), key, value);
    headers.forEach(record.headers()::add);
    try {
      producer.send(record).get();
      return null;
    } catch (ExecutionException e) {
      return String.valueOf(e.getCause().getMessage());
    } finally {
      producer.close();
    }
  }
}
