package ksqlpy.internals;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.SparkEnv;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What only makes things quick, by the classes of the package {@code speedups}. Each is off where the setting {@link
 * #SETTING} names it, as the engine has it when this Spark lacks a member that these classes use, and where they are not
 * there or do not link. Nobody else may name these classes where it is off.
 */
public enum Speedup {
  EXPRESSION_READER("expression-reader", "QuickParser", "ExpressionReader", "ExpressionText"),
  EXECUTOR_QUARANTINE("executor-quarantine", "ExecutorAllocation"),
  KEPT_PLANS("kept-plans", "KeptPlan", "KeptRows", "KeptRule", "KeptStrategy", "PlannedAhead"),
  STATE_METADATA("state-metadata", "StateFiles");

  private static final Logger LOG = LoggerFactory.getLogger(Speedup.class);

  /** The names of those that are off, with commas between. */
  static final String SETTING = "spark.ksqlpy.speedups.off";

  private final String title;
  private final String[] classes;
  private Boolean on;

  Speedup(String title, String... classes) {
    this.title = title;
    this.classes = classes;
  }

  public synchronized boolean on() {
    if (on == null) {
      on = !named() && linked();
    }
    return on;
  }

  /** Turns it off: its classes do not fit this Spark. */
  public synchronized void failed(LinkageError e) {
    if (on()) {
      LOG.warn("the speed-up {} is off: {}", title, e.toString());
      on = false;
    }
  }

  /** The names of those that are off. */
  public static List<String> off() {
    List<String> found = new ArrayList<>();
    for (Speedup each : values()) {
      if (!each.on()) {
        found.add(each.title);
      }
    }
    return found;
  }

  private boolean named() {
    SparkEnv here = SparkEnv.get();
    return here != null && List.of(here.conf().get(SETTING, "").split(",")).contains(title);
  }

  private boolean linked() {
    try {
      for (String name : classes) {
        Class.forName("ksqlpy.speedups." + name, false, Speedup.class.getClassLoader());
      }
      return true;
    } catch (ClassNotFoundException | LinkageError e) {
      return false;
    }
  }
}
