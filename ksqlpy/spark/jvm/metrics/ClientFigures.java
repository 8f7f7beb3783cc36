package ksqlpy.metrics;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import org.apache.kafka.common.metrics.KafkaMetric;
import org.apache.kafka.common.metrics.MetricsReporter;

/**
 * What one Kafka client of a query has done so far: Spark's own progress stays empty until a batch ends. A client is
 * given this class as one of its {@code metric.reporters}, and the query's id by the setting {@link #QUERY}.
 *
 * <p>Spark keeps consumers and producers in pools, and closes those that were idle. What a closed client had counted
 * stays in the query's sums until the query is forgotten.
 */
public final class ClientFigures implements MetricsReporter {
  /** The setting of a client that names its query. */
  public static final String QUERY = "ksqlpy.query";

  private static final AtomicLong MADE = new AtomicLong();

  /** The clients of each query, by their number; and the sums of those that are closed, by kind and topic. */
  private static final Map<String, TreeMap<Long, ClientFigures>> OPEN = new HashMap<>();

  private static final Map<String, Map<String, Long>> CLOSED = new HashMap<>();

  private final Long number = Long.valueOf(MADE.incrementAndGet());
  private final Map<String, KafkaMetric> totals = new HashMap<>();
  private final Map<String, KafkaMetric> lags = new HashMap<>();
  private final Map<String, KafkaMetric> leads = new HashMap<>();
  private KafkaMetric polled;
  private String query = "";

  public void configure(Map<String, ?> settings) {
    Object given = settings.get(QUERY);
    query = given == null ? "" : given.toString();
  }

  public void init(List<KafkaMetric> metrics) {
    synchronized (OPEN) {
      TreeMap<Long, ClientFigures> clients = OPEN.get(query);
      if (clients == null) {
        clients = new TreeMap<>();
        OPEN.put(query, clients);
      }
      clients.put(number, this);
    }
    for (int i = 0; i < metrics.size(); i++) {
      metricChange(metrics.get(i));
    }
  }

  public void metricChange(KafkaMetric metric) {
    String name = metric.metricName().name();
    String topic = metric.metricName().tags().get("topic");
    String partition = metric.metricName().tags().get("partition");
    if (topic == null) {
      if (name.equals("last-poll-seconds-ago")) {
        polled = metric;
      }
      return;
    }
    synchronized (OPEN) {
      if (partition != null) {
        if (name.equals("records-lag")) {
          lags.put(topic + "-" + partition, metric);
        } else if (name.equals("records-lead")) {
          leads.put(topic + "-" + partition, metric);
        }
      } else if (name.equals("records-consumed-total")) {
        totals.put("consumed:" + topic, metric);
      } else if (name.equals("record-send-total")) {
        totals.put("sent:" + topic, metric);
      }
    }
  }

  /** Kafka removes no metric of a topic before the client is closed; a partition's when it is assigned no more. */
  public void metricRemoval(KafkaMetric metric) {
    String topic = metric.metricName().tags().get("topic");
    String partition = metric.metricName().tags().get("partition");
    if (partition != null) {
      synchronized (OPEN) {
        lags.values().remove(metric);
        leads.values().remove(metric);
      }
    }
  }

  public void close() {
    synchronized (OPEN) {
      TreeMap<Long, ClientFigures> clients = OPEN.get(query);
      if (clients == null || clients.remove(number) == null) {
        return; // the query is forgotten
      }
      Map<String, Long> sums = CLOSED.get(query);
      if (sums == null) {
        sums = new HashMap<>();
        CLOSED.put(query, sums);
      }
      addTo(sums);
    }
  }

  /** Sums of a query by kind ({@code consumed}, {@code sent}) and topic, as {@code consumed:topic}. */
  static Map<String, Long> sums(String query) {
    synchronized (OPEN) {
      Map<String, Long> sums = new HashMap<>();
      Map<String, Long> closed = CLOSED.get(query);
      if (closed != null) {
        sums.putAll(closed);
      }
      TreeMap<Long, ClientFigures> clients = OPEN.get(query);
      if (clients != null) {
        clients.values().forEach(client -> client.addTo(sums));
      }
      return sums;
    }
  }

  /** How many records its consumers are behind, by {@code topic-partition}. */
  static Map<String, Long> lags(String query) {
    return newest(query, client -> client.lags);
  }

  /** How many offsets behind the first one of a partition its consumers are, by {@code topic-partition}. */
  static Map<String, Long> leads(String query) {
    return newest(query, client -> client.leads);
  }

  /** Seconds since the newest consumer of each partition has asked for records, by {@code topic-partition}. */
  static Map<String, Long> ages(String query) {
    Map<String, Long> found = new HashMap<>();
    synchronized (OPEN) {
      TreeMap<Long, ClientFigures> clients = OPEN.get(query);
      if (clients != null) {
        clients.values().forEach(client -> {
          double age = client.polled == null ? Double.NaN : number(client.polled);
          if (age >= 0) {
            client.leads.keySet().forEach(place -> found.put(place, Long.valueOf((long) age)));
          }
        });
      }
    }
    return found;
  }

  /** The queries that have or had clients. */
  static Set<String> queries() {
    synchronized (OPEN) {
      Set<String> found = new TreeSet<>(OPEN.keySet());
      found.addAll(CLOSED.keySet());
      return found;
    }
  }

  /** Of several consumers of a partition the newest tells: an idle one of before still says what it saw. */
  private static Map<String, Long> newest(String query, Function<ClientFigures, Map<String, KafkaMetric>> metrics) {
    Map<String, Long> known = new HashMap<>();
    synchronized (OPEN) {
      TreeMap<Long, ClientFigures> clients = OPEN.get(query);
      Map<String, KafkaMetric> newest = new HashMap<>();
      if (clients != null) {
        clients.values().forEach(client -> newest.putAll(metrics.apply(client)));
      }
      for (Map.Entry<String, KafkaMetric> last : newest.entrySet()) {
        double value = number(last.getValue());
        if (!Double.isNaN(value)) {
          known.put(last.getKey(), Long.valueOf((long) value));
        }
      }
    }
    return known;
  }

  /** Forgets a query that has ended for good; clients of it that are closed later count nothing. */
  static void forget(String query) {
    synchronized (OPEN) {
      OPEN.remove(query);
      CLOSED.remove(query);
    }
  }

  private void addTo(Map<String, Long> sums) {
    for (Map.Entry<String, KafkaMetric> total : totals.entrySet()) {
      double count = number(total.getValue());
      if (!Double.isNaN(count)) {
        Long before = sums.get(total.getKey());
        sums.put(total.getKey(), Long.valueOf((before == null ? 0 : before.longValue()) + (long) count));
      }
    }
  }

  private static double number(KafkaMetric metric) {
    Object value = metric.metricValue();
    return value instanceof Number ? ((Number) value).doubleValue() : Double.NaN;
  }
}
