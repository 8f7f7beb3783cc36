package ksqlpy.internals;

import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.time.Duration;
import java.util.Map;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.common.utils.ProducerIdAndEpoch;
import org.apache.spark.sql.catalyst.util.CaseInsensitiveMap;
import org.apache.spark.sql.catalyst.util.CaseInsensitiveMap$;
import org.apache.spark.sql.kafka010.KafkaSourceProvider$;
import org.apache.spark.sql.kafka010.producer.CachedKafkaProducer;
import org.apache.spark.sql.kafka010.producer.InternalKafkaProducerPool$;

/**
 * The pool from which Spark's Kafka sink takes the producer for a query's settings. Who has taken it before knows its
 * producer id (KIP-98), and keeps it: Spark closes it otherwise when it was idle for ten minutes, and the next has
 * another id.
 */
public final class ProducerPool {
  private final CachedKafkaProducer held;

  private ProducerPool(CachedKafkaProducer held) {
    this.held = held;
  }

  /** Takes the producer that Spark's sink takes with these options. */
  public static ProducerPool take(Map<String, String> options) {
    CaseInsensitiveMap<String> given =
        CaseInsensitiveMap$.MODULE$.apply(

                scala.collection.immutable.Map$.MODULE$.from(scala.jdk.javaapi.CollectionConverters.asScala(options)));
    return new ProducerPool(
        InternalKafkaProducerPool$.MODULE$.acquire(KafkaSourceProvider$.MODULE$.kafkaParamsForProducer(given)));
  }

  /** Gives it back to Spark. */
  public void release() {
    InternalKafkaProducerPool$.MODULE$.release(held);
  }

  /** Closes the producer at once, for all that have it, and gives it back; what it has not sent is given up. */
  public void cutOff() {
    held.producer().close(Duration.ZERO);
    release();
  }

  /** The producer's id, -1 until the brokers have told it; Kafka's clients tell nobody else, so by reflection. */
  public long id() throws ReflectiveOperationException {
    Field field = KafkaProducer.class.getDeclaredField("transactionManager");
    field.setAccessible(true);
    Object manager = field.get(held.producer());
    Method asked = manager.getClass().getDeclaredMethod("producerIdAndEpoch");
    asked.setAccessible(true);
    return ((ProducerIdAndEpoch) asked.invoke(manager)).producerId;
  }
}
