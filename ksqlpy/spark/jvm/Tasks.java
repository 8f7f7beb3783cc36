package ksqlpy;

import java.util.Iterator;
import java.util.Properties;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.TaskScheduler;
import org.apache.spark.scheduler.TaskSchedulerImpl;
import org.apache.spark.scheduler.TaskSetManager;

/** Spark's tasks, which may go on for a while after their query has ended: they are only asked to stop. */
public final class Tasks {
  private Tasks() {}

  /** The local property with a query's id, which its tasks have from the thread that started it. */
  public static final String QUERY = "ksqlpy.query";

  /** Whether a task of this query runs still, on any executor. */
  public static boolean running(SparkContext spark, String query) {
    TaskScheduler scheduler = spark.taskScheduler();
    if (!(scheduler instanceof TaskSchedulerImpl)) {
      return false;
    }
    // A task is among them until its executor says that it has ended.
    Iterator<TaskSetManager> sets = ((TaskSchedulerImpl) scheduler).taskIdToTaskSetManager().values().iterator();
    while (sets.hasNext()) {
      Properties properties = ((TaskSetManager) sets.next()).taskSet().properties();
      if (properties != null && query.equals(properties.getProperty(QUERY))) {
        return true;
      }
    }
    return false;
  }
}
