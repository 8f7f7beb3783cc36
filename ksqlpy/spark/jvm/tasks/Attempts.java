package ksqlpy.tasks;

import ksqlpy.internals.Tasks;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.util.TaskCompletionListener;

/**
 * Whether this is the first attempt of a task: {@code (BIGINT) → BOOLEAN}, always true. A later attempt of a task or a
 * stage would send again what the one before has sent, in whatever order, so it is refused: the query fails then, and
 * goes on as after a crash, which leaves out what is written.
 *
 * <p>Spark is told to make no other attempts. It makes them all the same for tasks that were killed, and on a cluster
 * for executors that were lost. Such an attempt may begin when the time of its batch is over. It gets no row then, and
 * says that nothing was read: committed, that would have what the first attempt wrote read again, beyond the tail. So
 * executors refuse it by {@link #refuseLater}, which needs no row.
 */
public final class Attempts implements ScalarFunction<Boolean> {
  private static final long serialVersionUID = 1L;

  private transient boolean checked;

  /** Throws IllegalStateException in a task that was tried before. */
  public static void first() {
    TaskContext task = TaskContext.get();
    if (task != null && isLater(task)) {
      throw refusal(task);
    }
  }

  /** To be called when a task starts: one of a query that was tried before fails at its end, if not before. */
  public static void refuseLater() {
    TaskContext task = TaskContext.get();
    if (task != null && isLater(task) && task.getLocalProperty(Tasks.QUERY) != null) {
      task.addTaskCompletionListener(
          (TaskCompletionListener) ended -> {
            throw refusal(ended);
          });
    }
  }

  private static boolean isLater(TaskContext task) {
    return task.attemptNumber() > 0 || task.stageAttemptNumber() > 0;
  }

  private static IllegalStateException refusal(TaskContext task) {
    return new IllegalStateException(
        "attempt " + task.attemptNumber() + " of task " + task.partitionId() + ", attempt "
            + task.stageAttemptNumber() + " of stage " + task.stageId()
            + ": only the first may write results, or some would be written again");
  }

  public boolean invoke(long any) {
    if (!checked) {
      first();
      checked = true;
    }
    return true;
  }

  public DataType[] inputTypes() {
    return new DataType[] {DataTypes.LongType};
  }

  public DataType resultType() {
    return DataTypes.BooleanType;
  }

  public boolean isResultNullable() {
    return false;
  }

  /** So that Spark leaves it where it stands. */
  public boolean isDeterministic() {
    return false;
  }

  public String name() {
    return "first_attempt";
  }

  public String canonicalName() {
    return "ksqlpy.first_attempt";
  }
}
