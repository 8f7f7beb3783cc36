package ksqlpy.metrics;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeMap;
import ksqlpy.functions.Counter;

/** What a query has done so far in this JVM: its Kafka clients, see {@link ClientFigures}, and counted rows. */
public final class Figures {
  private static final ObjectMapper MAPPER = new ObjectMapper();

  private Figures() {}

  /**
   * {@code {"consumed":{topic:n},"lag":n,"sent":{topic:n},"late":n,"failed":n}} of a query. {@code lag} is null before
   * a consumer knows any.
   */
  public static String read(String query) throws JsonProcessingException {
    Map<String, Map<String, Long>> kinds = new TreeMap<>();
    kinds.put("consumed", new TreeMap<>());
    kinds.put("sent", new TreeMap<>());
    for (Map.Entry<String, Long> sum : ClientFigures.sums(query).entrySet()) {
      String name = sum.getKey();
      int colon = name.indexOf(':');
      kinds.get(name.substring(0, colon)).put(name.substring(colon + 1), sum.getValue());
    }
    Map<String, Object> all = new LinkedHashMap<>();
    all.put("consumed", kinds.get("consumed"));
    all.put("lag", ClientFigures.lag(query));
    all.put("sent", kinds.get("sent"));
    all.put("late", Long.valueOf(Counter.count(query + ":late")));
    all.put("failed", Long.valueOf(Counter.count(query + ":failed")));
    return MAPPER.writeValueAsString(all);
  }

  /** {@code {"topic-partition":n}}: how many offsets behind the first one of each partition its consumers are. */
  public static String leads(String query) throws JsonProcessingException {
    return MAPPER.writeValueAsString(ClientFigures.leads(query));
  }

  /** Forgets a query that has ended for good. */
  public static void forget(String query) {
    ClientFigures.forget(query);
    Counter.forget(query);
  }
}
