package ksqlpy.metrics;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import ksqlpy.python.Failures;

/**
 * What the executors of a cluster have reported last. On a local master there are none, and nothing is added.
 *
 * <p>A report is {@code {"id":executor,"address":…,"version":…,"files":n,"now":ms,"checks":{check:…},"round":n,"busy":[task],"sending":[client id],"figures":{query:…},
 * "lives":[life],"tails":[specification],"python":[failure]}}, its answer {@code {"round":n,"pause":ms,"checks":[check],"forget":[query],"ended":[life],
 * "emptied":[tail],"forgotten":[tail]}}. Rounds tell how new a report is: an executor repeats the number of the last
 * answer.
 */
public final class Reports {
  private Reports() {}

  /** Ms between two reports; and while somebody waits for one. */
  private static final long PAUSE = 250;

  private static final long SOON = 10;

  /** Ms for which a report of every executor is waited for. */
  private static final long PATIENCE = 3000;

  private static final ObjectMapper MAPPER = new ObjectMapper();

  /** By executor; null before its first report. */
  private static final Map<String, JsonNode> LAST = new TreeMap<>();

  /** The sums of executors that are gone, by query. */
  private static final Map<String, Map<String, Long>> GONE = new TreeMap<>();

  private static final Set<String> FORGOTTEN = new HashSet<>();
  private static final Set<String> LIVES = new HashSet<>();
  private static final Map<String, Boolean> TAILS = new TreeMap<>();

  private static final Map<String, Long> SKEWS = new TreeMap<>();
  private static List<String> checks = List.of();
  private static boolean cluster;
  private static long lost;
  private static long round;
  private static long asked;

  /** A driver with executors begins. */
  public static void begin() {
    synchronized (LAST) {
      cluster = true;
      LAST.clear();
    }
  }

  /** It ends. */
  public static void end() {
    synchronized (LAST) {
      cluster = false;
      LAST.clear();
    }
  }

  /** An executor has come; the driver itself is none. */
  public static void joined(String executor) {
    synchronized (LAST) {
      if (cluster && !executor.equals("driver")) {
        LAST.putIfAbsent(executor, MAPPER.nullNode());
      }
    }
  }

  /** An executor is gone: what it has counted stays in the sums. */
  public static void left(String executor) {
    synchronized (LAST) {
      lost++;
      JsonNode report = LAST.remove(executor);
      SKEWS.remove(executor);
      if (report != null && report.has("figures")) {
        report.get("figures").properties().forEach(
            of -> add(GONE.computeIfAbsent(of.getKey(), any -> new TreeMap<>()), of.getValue().get("sums")));
      }
      LAST.notifyAll();
    }
  }

  /** How many executors this driver has lost. */
  public static long lost() {
    synchronized (LAST) {
      return lost;
    }
  }

  /** Takes a report; gives the answer, JSON. */
  public static String take(JsonNode report) throws JsonProcessingException {
    ObjectNode answer = MAPPER.createObjectNode();
    Failures.add(report.path("python"));
    synchronized (LAST) {
      String id = report.get("id").asText();
      if (LAST.containsKey(id)) { // else it is taken for gone
        LAST.put(id, report);
        SKEWS.put(id, Long.valueOf(report.get("now").asLong() - System.currentTimeMillis()));
        LAST.notifyAll();
      }
      answer.put("round", round);
      answer.put("pause", System.nanoTime() - asked < PATIENCE * 1_000_000 ? SOON : PAUSE);
      checks.forEach(answer.putArray("checks")::add);
      ArrayNode forget = answer.putArray("forget");
      report.get("figures").fieldNames().forEachRemaining(query -> {
        if (FORGOTTEN.contains(query)) {
          forget.add(query);
        }
      });
      ArrayNode ended = answer.putArray("ended");
      report.get("lives").forEach(life -> {
        if (!LIVES.contains(life.asText())) {
          ended.add(life);
        }
      });
      ArrayNode emptied = answer.putArray("emptied");
      ArrayNode forgotten = answer.putArray("forgotten");
      report.get("tails").forEach(tail -> {
        Boolean used = TAILS.get(tail.asText());
        if (used == null) {
          forgotten.add(tail);
        } else if (!used.booleanValue()) {
          emptied.add(tail);
        }
      });
    }
    return MAPPER.writeValueAsString(answer);
  }

  /** What all executors shall try from now on, see {@code cluster.Checks}; none ends it. */
  public static void check(List<String> wanted) {
    synchronized (LAST) {
      checks = List.copyOf(wanted);
    }
  }

  /**
   * The executors that are there, JSON: {@code {id:{"address":…,"version":…,"files":n,"skew":ms,"checks":{check:said}}}};
   * null in the place of one that has not reported yet.
   */
  public static String members() throws JsonProcessingException {
    ObjectNode found = MAPPER.createObjectNode();
    synchronized (LAST) {
      for (Map.Entry<String, JsonNode> last : LAST.entrySet()) {
        if (last.getValue().isNull()) {
          found.putNull(last.getKey());
          continue;
        }
        ObjectNode one = found.putObject(last.getKey());
        one.set("address", last.getValue().get("address"));
        one.set("version", last.getValue().get("version"));
        one.set("files", last.getValue().get("files"));
        one.put("skew", SKEWS.get(last.getKey()));
        one.set("checks", last.getValue().get("checks"));
      }
    }
    return MAPPER.writeValueAsString(found);
  }

  /** The life of a query begins, whose producers executors keep until it ends. */
  public static void beginLife(String query, String life) {
    synchronized (LAST) {
      LIVES.add(life);
      FORGOTTEN.remove(query);
    }
  }

  public static void endLife(String life) {
    synchronized (LAST) {
      LIVES.remove(life);
    }
  }

  /** A tail is in use, or empty: executors do with it as the driver does. */
  public static void tail(String tail, boolean used) {
    synchronized (LAST) {
      if (cluster) {
        TAILS.put(tail, Boolean.valueOf(used));
      }
    }
  }

  public static void forgetTail(String tail) {
    synchronized (LAST) {
      TAILS.remove(tail);
    }
  }

  /** A query has ended for good. */
  static void forget(String query) {
    synchronized (LAST) {
      GONE.remove(query);
      if (cluster) {
        FORGOTTEN.add(query);
      }
    }
  }

  /**
   * Reports of all executors that were begun after this call; null where one does not report. Without executors there
   * are none.
   */
  public static List<JsonNode> fresh() throws InterruptedException {
    synchronized (LAST) {
      if (LAST.isEmpty()) {
        return new ArrayList<>();
      }
      long mine = ++round;
      asked = System.nanoTime();
      long end = asked + PATIENCE * 1_000_000;
      while (!all(mine)) {
        long left = (end - System.nanoTime()) / 1_000_000;
        if (left <= 0) {
          return null;
        }
        LAST.wait(left);
      }
      return new ArrayList<>(LAST.values());
    }
  }

  private static boolean all(long mine) {
    for (JsonNode report : LAST.values()) {
      if (report.path("round").asLong(-1) < mine) {
        return false;
      }
    }
    return true;
  }

  /** The figures of a query by executor, of those that have any. */
  static Map<String, JsonNode> figures(String query) {
    Map<String, JsonNode> found = new TreeMap<>();
    synchronized (LAST) {
      for (Map.Entry<String, JsonNode> last : LAST.entrySet()) {
        JsonNode figures = last.getValue().path("figures").path(query);
        if (figures.isObject()) {
          found.put(last.getKey(), figures);
        }
      }
    }
    return found;
  }

  /** The sums of executors that are gone. */
  static Map<String, Long> gone(String query) {
    synchronized (LAST) {
      return new TreeMap<>(GONE.getOrDefault(query, Map.of()));
    }
  }

  /** Adds counts by their names. */
  private static void add(Map<String, Long> sums, JsonNode counts) {
    counts.properties().forEach(count -> sums.merge(count.getKey(), count.getValue().asLong(), Long::sum));
  }
}
