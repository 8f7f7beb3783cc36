package ksqlpy.speedups;

import ksqlpy.internals.Executors;
import ksqlpy.internals.Scala;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.ExecutorDecommissionInfo;
import org.apache.spark.scheduler.cluster.CoarseGrainedSchedulerBackend;
import org.apache.spark.scheduler.cluster.StandaloneSchedulerBackend;
import scala.Option;

/** Which executors are started, and get tasks. One that is about to be decommissioned gets none: so is one that is held back. */
public final class ExecutorAllocation {
  private ExecutorAllocation() {}

  private static final String REASON = "held back until it is warm";

  /**
   * From now on this executor gets no tasks and has no slots; it is one that has none yet. Whether it is so: not for the
   * only one, nor where Spark's scheduler is another than that of clusters.
   */
  public static boolean hold(SparkContext spark, String executor) {
    if (!(spark.schedulerBackend() instanceof CoarseGrainedSchedulerBackend backend)) {
      return false;
    }
    synchronized (backend) {
      backend.executorsPendingDecommission().put(executor, new ExecutorDecommissionInfo(REASON, Option.empty()));
    }
    if (Executors.slots(spark) == 0) {
      admit(spark, executor);
      return false;
    }
    return true;
  }

  /**
   * Whether a standalone cluster may start executors besides those that it has started. What runs goes on. False with a
   * cluster of another kind, which is left as it is.
   */
  public static boolean more(SparkContext spark, boolean wanted) {
    if (!(spark.schedulerBackend() instanceof StandaloneSchedulerBackend)) {
      return false;
    }
    // The Master starts an executor while there are fewer than this, and ends none of them when there are more.
    return spark.requestTotalExecutors(wanted ? Integer.MAX_VALUE : 1, 0, Scala.map());
  }

  /** It gets tasks again. */
  public static void admit(SparkContext spark, String executor) {
    if (spark.schedulerBackend() instanceof CoarseGrainedSchedulerBackend backend) {
      synchronized (backend) {
        backend.executorsPendingDecommission().remove(executor);
      }
      backend.reviveOffers();
    }
  }
}
