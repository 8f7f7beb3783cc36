package ksqlpy.sink;

import java.util.Map;
import java.util.concurrent.locks.LockSupport;
import org.apache.kafka.clients.producer.ProducerInterceptor;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;

/**
 * Lets the sender of a producer rest a moment where results come fast, so that more of them go out in one request: a
 * request costs brokers and this machine as much as many results. Where they come slowly each goes out at once, which
 * {@code linger.ms} could not tell apart.
 */
public final class SenderRest implements ProducerInterceptor<byte[], byte[]> {
  /** After so many results it is looked how fast they come. */
  private static final int LOOK = 16;

  /** Nanoseconds from one result to the next, above which each goes out at once: 10,000 results a second. */
  private static final long SLOW = 100_000;

  /** Nanoseconds for which the sender rests, and those that it works at least in between. */
  private static final long REST = 1_000_000;

  private static final long WORK = 100_000;

  private int taken;
  private long since = System.nanoTime();

  public void configure(Map<String, ?> settings) {}

  public ProducerRecord<byte[], byte[]> onSend(ProducerRecord<byte[], byte[]> record) {
    return record;
  }

  /** It is the sender's thread that calls this. */
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
}
