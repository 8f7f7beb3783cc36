package ksqlpy.cluster;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Map;
import java.util.TreeMap;
import ksqlpy.internals.Offers;
import org.apache.spark.SparkContext;

/**
 * Executors that have come, and get no tasks yet: a task waits there for code to be compiled, and all other tasks of its
 * query with it. The engine says when they prepare for tasks, and when they get them.
 */
public final class Newcomers {
  private Newcomers() {}

  private static final ObjectMapper MAPPER = new ObjectMapper();

  /** Those that are held back: when they came (ns). */
  private static final Map<String, Long> HELD = new TreeMap<>();

  private static final Map<String, Boolean> PREPARED = new TreeMap<>();

  private static SparkContext spark;
  private static boolean holding;
  private static boolean preparing;

  static synchronized void begin(SparkContext context) {
    spark = context;
    holding = preparing = false;
    HELD.clear();
    PREPARED.clear();
    SharedCode.begin();
  }

  /** An executor has come, and waits for this answer before it can get tasks. */
  static synchronized String come(String executor) {
    if (holding && Offers.hold(spark, executor)) {
      HELD.put(executor, Long.valueOf(System.nanoTime()));
    }
    return "{}";
  }

  static synchronized void left(String executor) {
    HELD.remove(executor);
    PREPARED.remove(executor);
    SharedCode.forget(executor);
  }

  /**
   * Takes {@code {"executor":…,"names":[name],"texts":{name:code}}}; answers {@code
   * {"tell":[name],"held":bool,"compile":{name:code}}}: which texts are asked for, and which the executor shall compile.
   */
  static synchronized String exchange(JsonNode report) throws JsonProcessingException {
    String executor = report.get("executor").asText();
    ObjectNode answer = MAPPER.createObjectNode();
    SharedCode.take(report, answer);
    boolean held = HELD.containsKey(executor);
    answer.put("held", held);
    ObjectNode compile = answer.putObject("compile");
    if (held && preparing && !SharedCode.give(executor, compile)) {
      PREPARED.put(executor, Boolean.TRUE);
    }
    return MAPPER.writeValueAsString(answer);
  }

  /**
   * For the engine: a standalone cluster starts the executors that are missing, if they are wanted now, and none after
   * that until they are wanted again.
   */
  public static synchronized void replace(boolean wanted) {
    if (wanted) {
      Offers.more(spark, true);
    }
    Offers.more(spark, false);
  }

  /** For the engine: executors that come from now on are held back, if there are others. */
  public static synchronized void hold() {
    holding = true;
  }

  /** Those that are held back compile what others have compiled, from now on or not. */
  public static synchronized void prepare(boolean wanted) {
    preparing = wanted;
  }

  /** Those that are held back, JSON: {@code {id:{"prepared":bool,"seconds":n}}}, n since they came. */
  public static synchronized String held() throws JsonProcessingException {
    ObjectNode found = MAPPER.createObjectNode();
    HELD.forEach(
        (executor, since) -> {
          ObjectNode one = found.putObject(executor);
          one.put("prepared", PREPARED.containsKey(executor));
          one.put("seconds", (System.nanoTime() - since.longValue()) / 1e9);
        });
    return MAPPER.writeValueAsString(found);
  }

  /** It gets tasks from now on. */
  public static synchronized void admit(String executor) {
    if (HELD.containsKey(executor)) {
      left(executor);
      Offers.admit(spark, executor);
    }
  }
}
