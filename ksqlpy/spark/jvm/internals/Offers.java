package ksqlpy.internals;

import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.ExecutorDecommissionInfo;
import org.apache.spark.scheduler.cluster.CoarseGrainedSchedulerBackend;
import scala.Option;

/** Which executors get tasks. One that is about to be decommissioned gets none: so is one that is held back. */
public final class Offers {
  private Offers() {}

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
