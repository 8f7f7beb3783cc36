package ksqlpy.internals;

import java.lang.reflect.Field;
import org.apache.spark.scheduler.SparkListenerInterface;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.streaming.runtime.StreamExecution;
import org.apache.spark.sql.execution.streaming.runtime.StreamingQueryWrapper;

/** Sessions of queries that have ended. */
public final class Sessions {
  private Sessions() {}

  /**
   * Takes off Spark's context what a query has registered there: each session that has had a query leaves a bus for the
   * listeners of its queries, which the context would keep, and give all events to, as long as it lives.
   */
  public static void forget(StreamingQueryWrapper query) throws ReflectiveOperationException {
    StreamExecution execution = query.streamingQuery();
    release(execution.sparkSession());
    release(execution.sparkSessionForStream());
  }

  private static void release(SparkSession session) throws ReflectiveOperationException {
    Object queries = session.streams();
    Field field = queries.getClass().getDeclaredField("listenerBus");
    field.setAccessible(true);
    session.sparkContext().removeSparkListener((SparkListenerInterface) field.get(queries));
  }
}
