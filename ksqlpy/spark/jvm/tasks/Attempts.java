package ksqlpy.tasks;

import org.apache.spark.TaskContext;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;

/**
 * Whether this is the first attempt of a task: {@code (BIGINT) → BOOLEAN}, always true. A later attempt of a task or a
 * stage would send again what the one before has sent, in whatever order, so it is refused: the query fails then, and
 * goes on as after a crash, which leaves out what is written.
 *
 * <p>Spark is told to make no other attempts. It makes them all the same for tasks that were killed, and on a cluster
 * for executors that were lost.
 */
public final class Attempts implements ScalarFunction<Boolean> {
  private static final long serialVersionUID = 1L;

  private transient boolean checked;

  /** Throws IllegalStateException in a task that was tried before. */
  public static void first() {
    TaskContext task = TaskContext.get();
    if (task != null && (task.attemptNumber() > 0 || task.stageAttemptNumber() > 0)) {
      throw new IllegalStateException(
          "attempt " + task.attemptNumber() + " of task " + task.partitionId() + ", attempt "
              + task.stageAttemptNumber() + " of stage " + task.stageId()
              + ": only the first may write results, or some would be written again");
    }
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
