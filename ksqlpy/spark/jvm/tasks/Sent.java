package ksqlpy.tasks;

import org.apache.spark.TaskContext;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;

/**
 * Notes that a row is sent to a task behind the next shuffle, the {@code stage}-th from 0 on, and gives its time: {@code (task INT, time BIGINT) →
 * BIGINT}, not null. See {@link Progress}.
 */
public final class Sent implements ScalarFunction<Long> {
  private static final long serialVersionUID = 1L;

  private final int tasks;
  private final int stage;

  private transient Progress.Sender sender;

  public Sent(int tasks, int stage) {
    this.tasks = tasks;
    this.stage = stage;
  }

  public long invoke(int task, long time) {
    if (sender == null) {
      sender = Progress.ofBatch(tasks).sender(stage, stage == 0 ? 0 : TaskContext.getPartitionId());
    }
    sender.sent(task, time);
    return time;
  }

  public DataType[] inputTypes() {
    return new DataType[] {DataTypes.IntegerType, DataTypes.LongType};
  }

  public DataType resultType() {
    return DataTypes.LongType;
  }

  public boolean isResultNullable() {
    return false;
  }

  /** So that Spark evaluates it once a row, and where it stands. */
  public boolean isDeterministic() {
    return false;
  }

  public String name() {
    return "sent_to_task";
  }

  public String canonicalName() {
    return "ksqlpy.sent_to_task." + tasks + "." + stage;
  }
}
