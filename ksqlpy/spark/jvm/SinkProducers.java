package ksqlpy;

import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.AbortTransactionSpec;
import org.apache.kafka.clients.admin.AdminClient;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.AuthorizationException;
import org.apache.kafka.common.errors.InvalidProducerEpochException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.apache.kafka.common.errors.UnsupportedVersionException;
import org.apache.kafka.common.utils.ProducerIdAndEpoch;
import org.apache.spark.sql.catalyst.util.CaseInsensitiveMap;
import org.apache.spark.sql.catalyst.util.CaseInsensitiveMap$;
import org.apache.spark.sql.kafka010.KafkaSourceProvider$;
import org.apache.spark.sql.kafka010.producer.CachedKafkaProducer;
import org.apache.spark.sql.kafka010.producer.InternalKafkaProducerPool$;

/**
 * The producers with which queries of this JVM write their results, and the end of those of earlier engines.
 *
 * <p>Spark's sink takes a producer for a query's settings from a pool. Who has taken it before knows its producer id
 * (KIP-98), and keeps it: Spark closes it otherwise when it was idle for ten minutes, and the next has another id.
 *
 * <p>The brokers refuse a producer whose epoch is older than one that they know for its id. So a control record with the
 * last of all epochs, which an abort of a transaction writes (KIP-664), ends a producer for good, whatever it has on its
 * way. Consumers do not see it; it takes one offset.
 */
public final class SinkProducers {
  private SinkProducers() {}

  /** Tells this JVM from all others. */
  public static final String JVM = UUID.randomUUID().toString();

  private static final Map<String, CachedKafkaProducer> HELD = new HashMap<String, CachedKafkaProducer>();

  /** Takes the producer that Spark's sink takes with these options; gives its id, -1 until the brokers have told it. */
  public static long hold(String query, Map<String, String> options) throws Exception {
    CachedKafkaProducer held;
    synchronized (HELD) {
      held = (CachedKafkaProducer) HELD.get(query);
      if (held == null) {
        CaseInsensitiveMap<String> given =
            CaseInsensitiveMap$.MODULE$.apply(
                (scala.collection.immutable.Map<String, String>)
                    scala.collection.immutable.Map$.MODULE$.from(scala.jdk.javaapi.CollectionConverters.asScala(options)));
        held = InternalKafkaProducerPool$.MODULE$.acquire(KafkaSourceProvider$.MODULE$.kafkaParamsForProducer(given));
        HELD.put(query, held);
      }
    }
    return id(held);
  }

  /** Gives it back to Spark. */
  public static void release(String query) {
    synchronized (HELD) {
      CachedKafkaProducer held = (CachedKafkaProducer) HELD.remove(query);
      if (held != null) {
        InternalKafkaProducerPool$.MODULE$.release(held);
      }
    }
  }

  private static long id(CachedKafkaProducer held) throws Exception {
    Field field = KafkaProducer.class.getDeclaredField("transactionManager");
    field.setAccessible(true);
    Object manager = field.get(held.producer());
    Method asked = manager.getClass().getDeclaredMethod("producerIdAndEpoch", new Class[0]);
    asked.setAccessible(true);
    return ((ProducerIdAndEpoch) asked.invoke(manager, new Object[0])).producerId;
  }

  /**
   * Ends producers on partitions of topics: when this returns, the brokers take nothing from them any more. A producer
   * that was ended before stays so. Partitions that do not exist are left out.
   *
   * <p>Returns null, or why the brokers do not let us, which lacks the right or the version.
   */
  public static String fence(Map<String, Object> settings, List<Long> producers, Map<String, Integer> topics)
      throws Exception {
    AdminClient admin = AdminClient.create(settings);
    try {
      List<KafkaFuture<Void>> asked = new ArrayList<KafkaFuture<Void>>();
      for (int i = 0; i < producers.size(); i++) {
        long id = ((Number) producers.get(i)).longValue();
        Iterator<Map.Entry<String, Integer>> all = topics.entrySet().iterator();
        while (all.hasNext()) {
          Map.Entry<String, Integer> topic = (Map.Entry<String, Integer>) all.next();
          for (int p = 0; p < ((Integer) topic.getValue()).intValue(); p++) {
            TopicPartition place = new TopicPartition((String) topic.getKey(), p);
            // The epoch of the coordinator is none, as of one that never was.
            asked.add(admin.abortTransaction(new AbortTransactionSpec(place, id, Short.MAX_VALUE, -1)).all());
          }
        }
      }
      for (int i = 0; i < asked.size(); i++) {
        try {
          ((KafkaFuture<Void>) asked.get(i)).get();
        } catch (ExecutionException e) {
          Throwable why = e.getCause();
          if (why instanceof AuthorizationException || why instanceof UnsupportedVersionException) {
            return String.valueOf(why.getMessage());
          }
          if (!(why instanceof UnknownTopicOrPartitionException || why instanceof InvalidProducerEpochException)) {
            throw e;
          }
        }
      }
      return null;
    } finally {
      admin.close();
    }
  }
}
