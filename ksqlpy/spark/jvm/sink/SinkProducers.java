package ksqlpy.sink;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import ksqlpy.clients.Connections;
import ksqlpy.internals.ProducerPool;
import org.apache.kafka.clients.admin.AbortTransactionSpec;
import org.apache.kafka.clients.admin.AdminClient;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.AuthorizationException;
import org.apache.kafka.common.errors.InvalidProducerEpochException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.apache.kafka.common.errors.UnsupportedVersionException;

/**
 * The producers with which queries of this JVM write their results, and the end of those of earlier engines.
 *
 * <p>Spark's sink takes a producer for a query's settings from a pool, see {@link ProducerPool}.
 *
 * <p>The brokers refuse a producer whose epoch is older than one that they know for its id. So a control record with the
 * last of all epochs, which an abort of a transaction writes (KIP-664), ends a producer for good, whatever it has on its
 * way. Consumers do not see it; it takes one offset.
 */
public final class SinkProducers {
  private SinkProducers() {}

  /** Tells this JVM from all others. */
  public static final String JVM = UUID.randomUUID().toString();

  private static final Map<String, ProducerPool> HELD = new HashMap<>();
  private static final Map<String, Map<String, String>> OPTIONS = new HashMap<>();

  /**
   * Takes the producer that Spark's sink takes with these options; gives its id, -1 until the brokers have told it. One
   * that is held with other options, of an earlier life of the query, is given back.
   */
  public static long hold(String query, Map<String, String> options) throws Exception {
    Map<String, String> wanted = new HashMap<>(options);
    ProducerPool held;
    synchronized (HELD) {
      held = HELD.get(query);
      if (held == null || !wanted.equals(OPTIONS.get(query))) {
        release(query);
        held = ProducerPool.take(options);
        HELD.put(query, held);
        OPTIONS.put(query, wanted);
      }
    }
    return held.id();
  }

  /** The names under which producers are held. */
  public static Set<String> held() {
    synchronized (HELD) {
      return new TreeSet<>(HELD.keySet());
    }
  }

  /** Gives it back to Spark. */
  public static void release(String query) {
    synchronized (HELD) {
      OPTIONS.remove(query);
      ProducerPool held = HELD.remove(query);
      if (held != null) {
        held.release();
      }
    }
  }

  /** Closes the producer that is held, which gives up all that it has not sent; whether one was held. */
  public static boolean cutOff(String query) {
    ProducerPool held;
    synchronized (HELD) {
      OPTIONS.remove(query);
      held = HELD.remove(query);
    }
    if (held == null) {
      return false;
    }
    held.cutOff();
    return true;
  }

  /**
   * Ends producers on partitions of topics: when this returns, the brokers take nothing from them any more. A producer
   * that was ended before stays so. Partitions that do not exist are left out.
   *
   * <p>Returns null, or why the brokers do not let us, which lacks the right or the version.
   */
  public static String fence(String connection, List<Long> producers, Map<String, Integer> topics)
      throws Exception {
    AdminClient admin = AdminClient.create(Connections.settings(connection, "admin"));
    try {
      List<KafkaFuture<Void>> asked = new ArrayList<>();
      for (int i = 0; i < producers.size(); i++) {
        long id = ((Number) producers.get(i)).longValue();
        for (Map.Entry<String, Integer> topic : topics.entrySet()) {
          for (int p = 0; p < topic.getValue().intValue(); p++) {
            TopicPartition place = new TopicPartition(topic.getKey(), p);
            // The epoch of the coordinator is none, as of one that never was.
            asked.add(admin.abortTransaction(new AbortTransactionSpec(place, id, Short.MAX_VALUE, -1)).all());
          }
        }
      }
      for (int i = 0; i < asked.size(); i++) {
        try {
          asked.get(i).get();
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
