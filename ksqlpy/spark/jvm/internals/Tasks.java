package ksqlpy.internals;

import java.util.Collections;
import java.util.HashSet;
import java.util.Properties;
import java.util.Set;
import org.apache.commons.lang3.ThreadUtils;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.TaskScheduler;
import org.apache.spark.scheduler.TaskSchedulerImpl;

/** Spark's tasks, which may go on for a while after their query has ended: they are only asked to stop. */
public final class Tasks {
  private Tasks() {}

  /** The local property with a query's id, which its tasks have from the thread that started it. */
  public static final String QUERY = "ksqlpy.query";

  /** Whether a task of this query runs still, on any executor. */
  public static boolean running(SparkContext spark, String query) {
    return !ids(spark, query).isEmpty();
  }

  /** The ids of the tasks of this JVM that are at work on a record, or on their own start or end, see {@link #waiting}. */
  public static Set<String> busy() {
    Set<String> found = new HashSet<>();
    for (Thread thread : ThreadUtils.getAllThreads()) {
      // So does RowsAhead; Spark names its threads "Executor task launch worker for task 0.0 in stage 1.0 (TID 7)".
      String name = thread.getName();
      int at = name.lastIndexOf("(TID ");
      if (at >= 0 && !waits(thread.getStackTrace())) {
        found.add(name.substring(at + 5, name.length() - 1));
      }
    }
    return found;
  }

  /**
   * Whether so many tasks of this query run, and none of them is among the {@code busy}: each waits for a record, of Kafka
   * or of another task. A record between two tasks is not seen.
   */
  public static boolean waiting(SparkContext spark, String query, int wanted, Set<String> busy) {
    Set<String> tasks = ids(spark, query);
    return tasks.size() >= wanted && Collections.disjoint(tasks, busy);
  }

  /**
   * Whether it asks for its next record: rows are drawn one by one, so none is worked on then. Spark's reader of Kafka also asks
   * for offsets, with a record in hand; ours asks for the ends of its partitions where it has none. The brokers answer that
   * only when they have answered for records, so a task whose query others read spends most of its time there.
   */
  private static boolean waits(StackTraceElement[] stack) {
    for (int i = 0; i < stack.length; i++) {
      String of = stack[i].getClassName();
      String method = stack[i].getMethodName();
      if (method.equals("poll") && of.equals("org.apache.spark.sql.kafka010.consumer.InternalKafkaConsumer")
          || (method.equals("poll") || method.equals("findEnd")) && of.equals("ksqlpy.source.Merge")
          || method.equals("awaitRow") && of.equals("ksqlpy.python.Ahead") // which another thread draws
          || of.startsWith("org.apache.spark.shuffle.streaming.StreamingShuffleReader")) {
        return true;
      }
    }
    return false;
  }

  /** The ids of its tasks. A task is among them until its executor says that it has ended. */
  public static Set<String> ids(SparkContext spark, String query) {
    Set<String> found = new HashSet<>();
    TaskScheduler scheduler = spark.taskScheduler();
    if (scheduler instanceof TaskSchedulerImpl local) {
      local.taskIdToTaskSetManager().forEach(
          (id, manager) -> {
            Properties properties = manager.taskSet().properties();
            if (properties != null && query.equals(properties.getProperty(QUERY))) {
              found.add(id.toString());
            }
          });
    }
    return found;
  }
}
