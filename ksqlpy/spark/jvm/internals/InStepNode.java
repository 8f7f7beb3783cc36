package ksqlpy.internals;

import java.util.List;
import java.util.Objects;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.Dataset$;
import org.apache.spark.sql.classic.SparkSession;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;

/** Rows behind a shuffle whose tasks go on in step, see {@link ksqlpy.tasks.Progress}; the same rows come out. */
public final class InStepNode extends LogicalPlan {
  private static final long serialVersionUID = 1L;

  private final String time;
  private final LogicalPlan input;

  /** Spark copies it by this constructor and {@link #productElement}. */
  public InStepNode(String time, LogicalPlan input) {
    this.time = time;
    this.input = input;
  }

  /** Adds it to the rows of a DataFrame, for Python. {@code time}: the column that {@link ksqlpy.tasks.Sent} made. */
  public static Dataset<Row> add(Dataset<Row> rows, String time) {
    SparkSession session = (SparkSession) rows.sparkSession();
    StepStrategy.add(session);
    LogicalPlan plan = ((org.apache.spark.sql.classic.Dataset<Row>) rows).queryExecution().analyzed();
    return Dataset$.MODULE$.ofRows(session, new InStepNode(time, plan));
  }

  String time() {
    return time;
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
    return new InStepNode(time, Scala.list(children).get(0));
  }

  @Override
  public int productArity() {
    return 2;
  }

  @Override
  public Object productElement(int index) {
    return switch (index) {
      case 0 -> time;
      case 1 -> input;
      default -> throw new IndexOutOfBoundsException(index);
    };
  }

  @Override
  public boolean canEqual(Object other) {
    return other instanceof InStepNode;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof InStepNode that && time.equals(that.time) && input.equals(that.input);
  }

  @Override
  public int hashCode() {
    return Objects.hash(time, input);
  }
}
