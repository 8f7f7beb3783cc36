package ksqlpy.internals;

import java.util.List;
import java.util.Objects;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.SparkPlan;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;

/** Rows behind a shuffle, in the order of time, see {@link ksqlpy.tasks.Progress}; the same rows come out. */
public final class InStepNode extends LogicalPlan {
  private static final long serialVersionUID = 1L;

  private final int stage;
  private final String time;
  private final String sender;
  private final int tasks;
  private final LogicalPlan input;

  /** Spark copies it by this constructor and {@link #productElement}. */
  public InStepNode(int stage, String time, String sender, int tasks, LogicalPlan input) {
    this.stage = stage;
    this.time = time;
    this.sender = sender;
    this.tasks = tasks;
    this.input = input;
  }

  /**
   * Adds it to the rows of a DataFrame, for Python. {@code stage}: which shuffle they come from, from 0 on; {@code time}:
   * the column that {@link ksqlpy.tasks.Sent} made; {@code sender}: that of the number of the task that sent them; {@code
   * tasks}: how many the query has behind each shuffle at most.
   */
  public static Dataset<Row> add(Dataset<Row> rows, int stage, String time, String sender, int tasks) {
    SparkSession session = (SparkSession) rows.sparkSession();
    StepStrategy.add(session);
    LogicalPlan plan = ((org.apache.spark.sql.classic.Dataset<Row>) rows).queryExecution().analyzed();
    return org.apache.spark.sql.classic.Dataset.ofRows(session, new InStepNode(stage, time, sender, tasks, plan));
  }

  /** This on Spark, over the planned rows of its input. */
  InStepExec planned(SparkPlan rows) {
    return new InStepExec(stage, time, sender, tasks, rows);
  }

  LogicalPlan input() {
    return input;
  }

  @Override
  public Seq<Attribute> output() {
    return input.output();
  }

  /** All columns, so that none is taken away below. */
  @Override
  public AttributeSet references() {
    return input.outputSet();
  }

  @Override
  public Seq<LogicalPlan> children() {
    return Scala.seq(List.of(input));
  }

  @Override
  public LogicalPlan withNewChildrenInternal(IndexedSeq<LogicalPlan> children) {
    return new InStepNode(stage, time, sender, tasks, Scala.list(children).get(0));
  }

  @Override
  public int productArity() {
    return 5;
  }

  @Override
  public Object productElement(int index) {
    return switch (index) {
      case 0 -> stage;
      case 1 -> time;
      case 2 -> sender;
      case 3 -> tasks;
      case 4 -> input;
      default -> throw new IndexOutOfBoundsException(index);
    };
  }

  @Override
  public boolean canEqual(Object other) {
    return other instanceof InStepNode;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof InStepNode that
        && stage == that.stage
        && time.equals(that.time)
        && sender.equals(that.sender)
        && tasks == that.tasks
        && input.equals(that.input);
  }

  @Override
  public int hashCode() {
    return Objects.hash(stage, time, sender, tasks, input);
  }
}
