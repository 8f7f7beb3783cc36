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
    return MAPPER.writeValueAsString(
        Map.of("here", report(query), "executors", Reports.figures(query), "gone", Reports.gone(query)));
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
    queries.forEach(query -> all.put(query, report(query)));
    return all;
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
    return sums;
  }
}
