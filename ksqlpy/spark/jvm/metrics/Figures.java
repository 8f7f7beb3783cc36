package ksqlpy.metrics;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import ksqlpy.functions.Counter;

/**
 * What a query has done so far: its Kafka clients, see {@link ClientFigures}, and counted rows, in this JVM and on all
 * executors, see {@link Reports}.
 */
public final class Figures {
  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final String CONSUMED = "consumed:";
  private static final String SENT = "sent:";

  private Figures() {}

  /**
   * {@code {"consumed":{topic:n},"lag":n,"sent":{topic:n},"late":n,"failed":n,"latency":{"p50":ms,"p99":ms,"max":ms},
   * "waiting":{"partition":topic-partition,"since":ms},"executors":{id:{"consumed":n,"sent":n,"lag":n,"latency":…}}}} of a query. {@code lag} is null before a consumer
   * knows any, {@code latency} without results of the last minute, {@code waiting} where no partition is waited for; {@code executors} is empty where there are none.
   */
  public static String read(String query) throws JsonProcessingException {
    Map<String, Long> sums = sums(query);
    Reports.addGone(query, sums);
    Map<Long, Long> latencies = new HashMap<>(Latency.here(query));
    Map<String, Map<String, Object>> executors = new TreeMap<>();
    Map<String, JsonNode> reported = Reports.figures(query);
    reported.forEach((id, figures) -> {
      Map<String, Long> own = new HashMap<>();
      Reports.add(own, figures.get("sums"));
      own.forEach((name, count) -> sums.merge(name, count, Long::sum));
      Map<Long, Long> took = new HashMap<>();
      Latency.add(took, figures.get("latency"));
      took.forEach((ms, count) -> latencies.merge(ms, count, Long::sum));
      Map<String, Object> said = new LinkedHashMap<>();
      said.put("consumed", Long.valueOf(total(own, CONSUMED)));
      said.put("sent", Long.valueOf(total(own, SENT)));
      said.put("lag", total(newest(query, "lags", Map.of(), Map.of(id, figures))));
      said.put("latency", Latency.summary(took));
      executors.put(id, said);
    });
    Map<String, Object> all = new LinkedHashMap<>();
    all.put("consumed", of(sums, CONSUMED));
    all.put("lag", total(newest(query, "lags", Inputs.added(ClientFigures.lags(query), query, 1), reported)));
    all.put("sent", of(sums, SENT));
    all.put("late", sums.getOrDefault("late", Long.valueOf(0)));
    all.put("failed", sums.getOrDefault("failed", Long.valueOf(0)));
    all.put("latency", Latency.summary(latencies));
    all.put("waiting", longest(Inputs.waiting(query), reported.values()));
    all.put("executors", executors);
    return MAPPER.writeValueAsString(all);
  }

  /** {@code {"topic-partition":n}}: how many offsets behind the first one of each partition its consumers are. */
  public static String leads(String query) throws JsonProcessingException {
    return MAPPER.writeValueAsString(
        newest(query, "leads", Inputs.added(ClientFigures.leads(query), query, -1), Reports.figures(query)));
  }

  /** Forgets a query that has ended for good. */
  public static void forget(String query) {
    ClientFigures.forget(query);
    Counter.forget(query);
    Latency.forget(query);
    Reports.forget(query);
  }

  /** For a report: the figures of all queries of this JVM. */
  public static Map<String, Object> here() {
    Set<String> queries = new HashSet<>(ClientFigures.queries());
    queries.addAll(Counter.queries());
    Map<String, Object> all = new HashMap<>();
    for (String query : queries) {
      Map<String, Object> one = new HashMap<>();
      one.put("sums", sums(query));
      one.put("lags", Inputs.added(ClientFigures.lags(query), query, 1));
      one.put("leads", Inputs.added(ClientFigures.leads(query), query, -1));
      one.put("ages", ClientFigures.ages(query));
      one.put("latency", Latency.here(query));
      one.put("waiting", Inputs.waiting(query));
      all.put(query, one);
    }
    return all;
  }

  private static Map<String, Object> longest(Map<String, Object> here, Collection<JsonNode> reported) {
    Map<String, Object> found = here;
    for (JsonNode figures : reported) {
      JsonNode one = figures.path("waiting");
      if (one.isObject() && (found == null || one.get("since").asLong() < ((Long) found.get("since")).longValue())) {
        found = Map.of("partition", one.get("partition").asText(), "since", Long.valueOf(one.get("since").asLong()));
      }
    }
    return found;
  }

  private static Map<String, Long> sums(String query) {
    Map<String, Long> sums = new HashMap<>(ClientFigures.sums(query));
    sums.putAll(Counter.counts(query));
    return sums;
  }

  /** Of several consumers of a partition the one that has asked last tells. */
  private static Map<String, Long> newest(
      String query, String kind, Map<String, Long> here, Map<String, JsonNode> reported) {
    Map<String, Long> found = new TreeMap<>(here);
    Map<String, Long> ages = new HashMap<>(reported.isEmpty() ? Map.of() : ClientFigures.ages(query));
    for (JsonNode figures : reported.values()) {
      for (Map.Entry<String, JsonNode> one : figures.get(kind).properties()) {
        long age = figures.get("ages").path(one.getKey()).asLong(Long.MAX_VALUE - 1);
        if (age < ages.getOrDefault(one.getKey(), Long.valueOf(Long.MAX_VALUE)).longValue()) {
          ages.put(one.getKey(), Long.valueOf(age));
          found.put(one.getKey(), Long.valueOf(one.getValue().asLong()));
        }
      }
    }
    return found;
  }

  private static Map<String, Long> of(Map<String, Long> sums, String kind) {
    Map<String, Long> found = new TreeMap<>();
    sums.forEach((name, count) -> {
      if (name.startsWith(kind)) {
        found.put(name.substring(kind.length()), count);
      }
    });
    return found;
  }

  private static long total(Map<String, Long> sums, String kind) {
    return of(sums, kind).values().stream().mapToLong(Long::longValue).sum();
  }

  /** Null of none. */
  private static Long total(Map<String, Long> counts) {
    return counts.isEmpty() ? null : Long.valueOf(counts.values().stream().mapToLong(Long::longValue).sum());
  }
}
