package ksqlpy.metrics;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import ksqlpy.functions.Counter;

/**
 * What queries have done so far: their Kafka clients, see {@link ClientFigures}, and counted rows, in this JVM and on
 * each executor, see {@link Reports}.
 */
public final class Figures {
  private static final ObjectMapper MAPPER = new ObjectMapper();

  private Figures() {}

  /**
   * JSON, whose parts {@code ksqlpy/figures/counts.py} adds up: {@code here} and, by their ids, {@code executors} have
   * the reports of this JVM and of each executor, see {@link #report}; {@code gone} the sums of executors that are gone.
   */
  public static String read(String query) throws JsonProcessingException {
    return MAPPER.writeValueAsString(all(query));
  }

  /** The same of all queries, by their ids, with their last {@code batch}, see {@link Batches}; and {@link Machine}. */
  public static String readAll() throws JsonProcessingException {
    Set<String> queries = queries();
    queries.addAll(Batches.queries());
    Map<String, Object> found = new HashMap<>();
    for (String query : queries) {
      Map<String, Object> one = all(query);
      one.put("batch", Batches.last(query));
      found.put(query, one);
    }
    return MAPPER.writeValueAsString(Map.of("queries", found, "machine", Machine.figures()));
  }

  private static Map<String, Object> all(String query) {
    Map<String, Object> found = new HashMap<>();
    found.put("here", report(query));
    found.put("executors", Reports.figures(query));
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
    Map<String, Object> all = new HashMap<>();
    queries().forEach(query -> all.put(query, report(query)));
    return all;
  }

  private static Set<String> queries() {
    Set<String> queries = new HashSet<>(ClientFigures.queries());
    queries.addAll(Counter.queries());
    return queries;
  }

  /** What this JVM has counted of a query: {@code latency} by ms, {@code waiting} null where no partition is waited for. */
  private static Map<String, Object> report(String query) {
    Map<String, Object> found = new HashMap<>();
    found.put("sums", sums(query));
    found.put("lags", Inputs.added(ClientFigures.lags(query), query, 1));
    found.put("leads", Inputs.added(ClientFigures.leads(query), query, -1));
    found.put("ages", ClientFigures.ages(query));
    found.put("latency", Latency.here(query));
    found.put("waiting", Inputs.waiting(query));
    return found;
  }

  private static Map<String, Long> sums(String query) {
    Map<String, Long> sums = new HashMap<>(ClientFigures.sums(query));
    sums.putAll(Counter.counts(query));
    Latency.addTotals(query, sums);
    return sums;
  }
}
