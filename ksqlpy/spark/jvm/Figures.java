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
    Object[] readers = names(beans, "kafka.consumer:type=consumer-fetch-manager-metrics,*");
    for (int i = 0; i < readers.length; i++) {
      ObjectName bean = (ObjectName) readers[i];
      String topic = bean.getKeyProperty("topic");
      boolean whole = topic != null && bean.getKeyProperty("partition") == null;
      if (whole && holds(bean.getKeyProperty("client-id"), prefix)) {
        add(consumed, topic, number(beans, bean, "records-consumed-total"));
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
    all.put("lag", lag(beans, prefix));
    all.put("sent", sent);
    all.put("late", Long.valueOf(Counter.count(prefix + ":late")));
    all.put("failed", Long.valueOf(Counter.count(prefix + ":failed")));
    return MAPPER.writeValueAsString(all);
  }

  /** Over all partitions; the newest consumer of each tells it: an idle one of before would say what it saw. */
  private static Long lag(MBeanServer beans, String prefix) throws JMException {
    Map<String, Long> newest = new TreeMap<String, Long>();
    Map<String, Double> lags = new TreeMap<String, Double>();
    Object[] readers = names(beans, "kafka.consumer:type=consumer-fetch-manager-metrics,topic=*,partition=*,*");
    for (int i = 0; i < readers.length; i++) {
      ObjectName bean = (ObjectName) readers[i];
      String client = bean.getKeyProperty("client-id");
      String partition = bean.getKeyProperty("topic") + "-" + bean.getKeyProperty("partition");
      Long known = (Long) newest.get(partition);
      if (holds(client, prefix) && (known == null || count(client) > known.longValue())) {
        newest.put(partition, Long.valueOf(count(client)));
        lags.put(partition, Double.valueOf(number(beans, bean, "records-lag")));
      }
    }
    Long sum = null;
    Object[] each = lags.values().toArray();
    for (int i = 0; i < each.length; i++) {
      if (!((Double) each[i]).isNaN()) {
        sum = Long.valueOf((sum == null ? 0 : sum.longValue()) + ((Double) each[i]).longValue());
      }
    }
    return sum;
  }

  /** The number that Kafka's clients put behind their id, one higher for each consumer of the JVM; 0 without one. */
  private static long count(String client) {
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
