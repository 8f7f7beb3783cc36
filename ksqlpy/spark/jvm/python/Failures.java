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
 * number of those before it. A function has {@link #MOST_KINDS} kinds at most: names of classes may be anything.
 */
public final class Failures {
  private static final ObjectMapper MAPPER = new ObjectMapper();

  /** Ns from one that is told to the next of its kind. */
  private static final long PAUSE = 60_000_000_000L;

  private static final int MOST_KINDS = 20;
  private static final int MOST_FUNCTIONS = 1000;
  private static final int MOST_TOLD = 200;

  /** What prints and all further kinds are told as: no name of a class is empty, or has a blank. */
  private static final String PRINTS = "";

  private static final String OTHERS = " ";

  /** By query and function. */
  private static final Map<String, Map<String, Kind>> KINDS = new HashMap<>();

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
      if (KINDS.size() > MOST_FUNCTIONS) {
        KINDS.clear();
      }
      Map<String, Kind> kinds = KINDS.computeIfAbsent(query + ' ' + call.name, name -> new HashMap<>());
      boolean own = kinds.size() < MOST_KINDS || kinds.containsKey(kind) || kind.equals(PRINTS);
      String key = own ? kind : OTHERS;
      Kind known = kinds.get(key);
      long now = System.nanoTime();
      if (known == null) {
        known = new Kind();
        kinds.put(key, known);
      } else if (!always && now - known.told < PAUSE) {
        known.more++;
        return;
      }
      Map<String, Object> one = new HashMap<>();
      one.put("query", query);
      one.put("function", call.name);
      one.put("prints", Boolean.valueOf(kind.equals(PRINTS)));
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
