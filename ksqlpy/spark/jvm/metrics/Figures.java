package ksqlpy.metrics;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import ksqlpy.functions.Counter;

/**
 * What queries have done so far: their Kafka clients, see {@link ClientFigures}, and counted rows, in this JVM and on
 * each executor, see {@link Reports}.
 */
public final class Figures {
  private static final ObjectMapper MAPPER = new ObjectMapper();

  private static final List<String> TOLD = List.of("sums", "lags", "ages", "latency", "waiting");

  private Figures() {}

  /**
   * JSON, whose parts {@code ksqlpy/figures/counts.py} adds up: {@code here} and, by their ids, {@code executors} have
   * the reports of this JVM and of each executor, see {@link #report}; {@code gone} the sums of executors that are gone.
   */
  public static String read(String query) throws JsonProcessingException {
    return MAPPER.writeValueAsString(all(query, report(query, Counter.counts()), Reports.figures(query)));
  }

  /**
   * The same of all queries, by their ids, with their last {@code batch}, see {@link Batches}; and {@link Machine}. Of the
   * reports there is what {@code GET /metrics} and {@code GET /figures} tell, {@link #TOLD}: with hundreds of queries the rest is half of it.
   */
  public static String readAll() throws JsonProcessingException {
    Map<String, Map<String, Long>> counted = Counter.counts();
    Set<String> queries = queries(counted);
    queries.addAll(Batches.queries());
    Map<String, Object> found = new HashMap<>();
    for (String query : queries) {
      Map<String, JsonNode> executors = Reports.figures(query);
      executors.replaceAll((executor, report) -> told(report));
      Map<String, Object> one = all(query, told(query, counted), executors);
      one.put("batch", Batches.last(query));
      found.put(query, one);
    }
    return MAPPER.writeValueAsString(Map.of("queries", found, "machine", Machine.figures()));
  }

  private static Map<String, Object> all(String query, Map<String, Object> here, Map<String, JsonNode> executors) {
    Map<String, Object> found = new HashMap<>();
    found.put("here", here);
    found.put("executors", executors);
    found.put("gone", Reports.gone(query));
    return found;
  }

  /** Forgets a query that has ended for good. */
  public static void forget(String query) {
    ClientFigures.forget(query);
    Counter.forget(query);
    Latency.forget(query);
    Batches.forget(query);
    Reports.forget(query);
  }

  /** For a report: the figures of all queries of this JVM. */
  public static Map<String, Object> here() {
    Map<String, Map<String, Long>> counted = Counter.counts();
    Map<String, Object> all = new HashMap<>();
    queries(counted).forEach(query -> all.put(query, report(query, counted)));
    return all;
  }

  private static Set<String> queries(Map<String, Map<String, Long>> counted) {
    Set<String> queries = new HashSet<>(ClientFigures.queries());
    queries.addAll(counted.keySet());
    return queries;
  }

  /** What this JVM has counted of a query: {@code latency} by ms, {@code waiting} null where no partition is waited for. */
  private static Map<String, Object> report(String query, Map<String, Map<String, Long>> counted) {
    Map<String, Object> found = told(query, counted);
    found.put("leads", Inputs.added(ClientFigures.leads(query), query, -1));
    return found;
  }

  private static Map<String, Object> told(String query, Map<String, Map<String, Long>> counted) {
    Map<String, Object> found = new HashMap<>();
    found.put("sums", sums(query, counted.getOrDefault(query, Map.of())));
    found.put("lags", Inputs.added(ClientFigures.lags(query), query, 1));
    found.put("ages", ClientFigures.ages(query));
    found.put("latency", Latency.here(query));
    found.put("waiting", Inputs.waiting(query));
    return found;
  }

  private static JsonNode told(JsonNode report) {
    ObjectNode found = MAPPER.createObjectNode();
    TOLD.forEach(name -> found.set(name, report.get(name)));
    return found;
  }

  private static Map<String, Long> sums(String query, Map<String, Long> counted) {
    Map<String, Long> sums = new HashMap<>(ClientFigures.sums(query));
    sums.putAll(counted);
    Latency.addTotals(query, sums);
    return sums;
  }
}
