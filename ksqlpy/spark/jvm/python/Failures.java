package ksqlpy.python;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import ksqlpy.functions.Counter;
import org.apache.spark.TaskContext;

/**
 * Calls that gave no value, and what functions print, until the engine takes them for the processing log. Each failed call
 * counts as a failed value of its query, if its row is no dead letter. Of those of one kind one a minute is told, with the
 * number of those before it.
 */
public final class Failures {
  private static final ObjectMapper MAPPER = new ObjectMapper();

  /** Ns from one that is told to the next of its kind. */
  private static final long PAUSE = 60_000_000_000L;

  private static final int MOST_KINDS = 1000;
  private static final int MOST_TOLD = 200;

  private static final String PRINTS = "print";

  private static final Map<String, Kind> KINDS = new HashMap<>();
  private static final List<Object> TOLD = new ArrayList<>();

  private static final class Kind {
    long told;
    long more;
  }

  private Failures() {}

  static void printed(Call call, String text) {
    tell(query(), call, PRINTS, text, "", false);
  }

  static void failed(Call call, CallFailed why, boolean letter) {
    String query = query();
    if (!query.isEmpty() && !letter) {
      Counter.add(query + ":failed");
    }
    tell(query, call, why.kind, why.getMessage(), why.traceback, call.onError.equals("stop"));
  }

  /** The query whose task this thread runs; empty where it runs none. */
  private static String query() {
    TaskContext task = TaskContext.get();
    String query = task == null ? null : task.getLocalProperty("ksqlpy.query");
    return query == null ? "" : query;
  }

  private static void tell(String query, Call call, String kind, String reason, String traceback, boolean always) {
    synchronized (KINDS) {
      if (KINDS.size() > MOST_KINDS) {
        KINDS.clear();
      }
      Kind known = KINDS.get(query + ' ' + call.name + ' ' + kind);
      long now = System.nanoTime();
      if (known == null) {
        known = new Kind();
        KINDS.put(query + ' ' + call.name + ' ' + kind, known);
      } else if (!always && now - known.told < PAUSE) {
        known.more++;
        return;
      }
      Map<String, Object> one = new HashMap<>();
      one.put("query", query);
      one.put("function", call.name);
      one.put("kind", kind);
      one.put("reason", reason);
      one.put("traceback", traceback);
      one.put("more", Long.valueOf(known.more));
      known.told = now;
      known.more = 0;
      keep(one);
    }
  }

  private static void keep(Object one) {
    if (TOLD.size() < MOST_TOLD) { // nobody may come for them
      TOLD.add(one);
    }
  }

  /** What is to be told since the last call: a list of objects. */
  public static List<Object> take() {
    synchronized (KINDS) {
      List<Object> all = new ArrayList<>(TOLD);
      TOLD.clear();
      return all;
    }
  }

  /** The same as JSON. */
  public static String taken() throws JsonProcessingException {
    return MAPPER.writeValueAsString(take());
  }

  /** Takes those of an executor. */
  public static void add(JsonNode told) {
    synchronized (KINDS) {
      told.forEach(Failures::keep);
    }
  }
}
