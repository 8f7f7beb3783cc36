package ksqlpy;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.lang.management.ManagementFactory;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeMap;
import javax.management.JMException;
import javax.management.MBeanServer;
import javax.management.ObjectName;

/**
 * What the Kafka clients of a query have done so far, from their JMX beans: Spark's own progress stays empty until a
 * batch ends.
 *
 * <p>Sums over the clients that exist now, in this JVM. Spark keeps consumers and producers in pools: from batch to
 * batch, and for minutes after a query has stopped. When it closes one, what that one had counted is gone; so a figure
 * can fall, and who wants a total adds what it lost. A query that starts again gets new consumers beside the idle ones
 * of before: with the number of the start behind its id ({@code groupIdPrefix=CSAS_X_1-2}) they can be told apart.
 */
public final class Figures {
  private static final ObjectMapper MAPPER = new ObjectMapper();

  private Figures() {}

  /**
   * {@code {"consumed":{topic:n},"lag":n,"sent":{topic:n},"late":n,"failed":n}} of the clients whose id holds {@code
   * prefix} as a whole word: {@code Q_1} is not in {@code Q_10}. {@code lag} is null before a consumer knows any.
   */
  public static String read(String prefix) throws JMException, JsonProcessingException {
    MBeanServer beans = ManagementFactory.getPlatformMBeanServer();
    Map<String, Long> consumed = new TreeMap<String, Long>();
    Map<String, Long> sent = new TreeMap<String, Long>();
    Map<String, ObjectName> newest = new TreeMap<String, ObjectName>(); // of the consumers of each partition
    Object[] readers = names(beans, "kafka.consumer:type=consumer-fetch-manager-metrics,*");
    for (int i = 0; i < readers.length; i++) {
      ObjectName bean = (ObjectName) readers[i];
      String topic = bean.getKeyProperty("topic");
      if (topic == null || !holds(bean.getKeyProperty("client-id"), prefix)) {
        continue;
      }
      String partition = bean.getKeyProperty("partition");
      if (partition == null) {
        add(consumed, topic, number(beans, bean, "records-consumed-total"));
        continue;
      }
      // An idle consumer of before still says what it saw.
      ObjectName known = (ObjectName) newest.get(topic + "-" + partition);
      if (known == null || count(bean) > count(known)) {
        newest.put(topic + "-" + partition, bean);
      }
    }
    Long lag = null;
    Object[] last = newest.values().toArray();
    for (int i = 0; i < last.length; i++) {
      double behind = number(beans, (ObjectName) last[i], "records-lag");
      if (!Double.isNaN(behind)) {
        lag = Long.valueOf((lag == null ? 0 : lag.longValue()) + (long) behind);
      }
    }
    Object[] writers = names(beans, "kafka.producer:type=producer-topic-metrics,*");
    for (int i = 0; i < writers.length; i++) {
      ObjectName bean = (ObjectName) writers[i];
      if (holds(bean.getKeyProperty("client-id"), prefix)) {
        add(sent, bean.getKeyProperty("topic"), number(beans, bean, "record-send-total"));
      }
    }
    Map<String, Object> all = new LinkedHashMap<String, Object>();
    all.put("consumed", consumed);
    all.put("lag", lag);
    all.put("sent", sent);
    all.put("late", Long.valueOf(Counter.count(prefix + ":late")));
    all.put("failed", Long.valueOf(Counter.count(prefix + ":failed")));
    return MAPPER.writeValueAsString(all);
  }

  /** The number that Kafka's clients put behind their id, one higher for each consumer of the JVM; 0 without one. */
  private static long count(ObjectName bean) {
    String client = bean.getKeyProperty("client-id");
    int end = client.endsWith("\"") ? client.length() - 1 : client.length();
    int begin = end;
    while (begin > 0 && Character.isDigit(client.charAt(begin - 1))) {
      begin--;
    }
    return begin == end || end - begin > 18 ? 0 : Long.parseLong(client.substring(begin, end));
  }

  private static Object[] names(MBeanServer beans, String pattern) throws JMException {
    return beans.queryNames(new ObjectName(pattern), null).toArray();
  }

  private static double number(MBeanServer beans, ObjectName bean, String name) {
    try {
      return ((Number) beans.getAttribute(bean, name)).doubleValue();
    } catch (JMException e) {
      return Double.NaN; // closed since it was listed
    }
  }

  private static void add(Map<String, Long> sums, String topic, double count) {
    if (!Double.isNaN(count)) {
      Long before = (Long) sums.get(unquoted(topic));
      sums.put(unquoted(topic), Long.valueOf((before == null ? 0 : before.longValue()) + (long) count));
    }
  }

  /** Kafka quotes values with other characters than letters, digits and a few signs. */
  private static String unquoted(String value) {
    return value.startsWith("\"") ? ObjectName.unquote(value) : value;
  }

  private static boolean holds(String client, String prefix) {
    if (client == null || prefix.isEmpty()) {
      return false;
    }
    for (int at = client.indexOf(prefix); at >= 0; at = client.indexOf(prefix, at + 1)) {
      int end = at + prefix.length();
      boolean starts = at == 0 || !isWord(client.charAt(at - 1));
      if (starts && (end == client.length() || !isWord(client.charAt(end)))) {
        return true;
      }
    }
    return false;
  }

  private static boolean isWord(char c) {
    return Character.isLetterOrDigit(c) || c == '_';
  }
}
