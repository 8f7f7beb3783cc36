package ksqlpy.cluster;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Map;
import java.util.TreeMap;
import ksqlpy.internals.Speedup;
import ksqlpy.speedups.ExecutorAllocation;
import org.apache.spark.SparkContext;

/**
 * Executors that have come, and get no tasks yet: a task waits there for code to be compiled, and all other tasks of its
 * query with it. The engine says when they prepare for tasks, and when they get them.
 */
public final class ExecutorQuarantine {
  private ExecutorQuarantine() {}

  private static final ObjectMapper MAPPER = new ObjectMapper();

  /** The name of the driver among executors, as Spark has it. */
  static final String DRIVER = "driver";

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
  }

  /** An executor has come, and waits for this answer before it can get tasks: {@code {"held":bool}}. */
  static synchronized String come(String executor) {
    if (holding && Speedup.EXECUTOR_QUARANTINE.on() && ExecutorAllocation.hold(spark, executor)) {
      HELD.put(executor, Long.valueOf(System.nanoTime()));
    }
    return MAPPER.createObjectNode().put("held", HELD.containsKey(executor)).toString();
  }

  static synchronized void left(String executor) {
    HELD.remove(executor);
    PREPARED.remove(executor);
  }

  /**
   * Takes {@code {"held":id,"loaded":bool}}: whether an executor has loaded what tasks need; answers {@code
   * {"held":bool,"load":bool}}: whether it is still held back, and whether it shall load that now.
   */
  static synchronized String prepare(JsonNode report) {
    String executor = report.get("held").asText();
    boolean held = HELD.containsKey(executor);
    if (held && report.get("loaded").asBoolean()) {
      PREPARED.put(executor, Boolean.TRUE);
    }
    return MAPPER.createObjectNode().put("held", held).put("load", held && preparing).toString();
  }

  /**
   * For the engine: a standalone cluster starts the executors that are missing, if they are wanted now, and none after
   * that until they are wanted again.
   */
  public static synchronized void replace(boolean wanted) {
    if (!Speedup.EXECUTOR_QUARANTINE.on()) {
      return; // the cluster starts them when it can
    }
    if (wanted) {
      ExecutorAllocation.more(spark, true);
    }
    ExecutorAllocation.more(spark, false);
  }

  /** For the engine: executors that come from now on are held back, if there are others. */
  public static synchronized void hold() {
    holding = true;
  }

  /** Those that are held back load what tasks need, from now on or not. */
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
    if (HELD.remove(executor) != null) {
      PREPARED.remove(executor);
      ExecutorAllocation.admit(spark, executor);
    }
  }
}
