package ksqlpy.internals;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import ksqlpy.python.Ahead;
import ksqlpy.python.Call;
import ksqlpy.python.PythonCall;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;

/** Rows with the values of calls of functions in Python behind their columns, see {@link Ahead}. */
public final class AheadNode extends LogicalPlan {
  private static final long serialVersionUID = 1L;

  private final Seq<String> calls;
  private final Seq<String> arguments;
  private final String time;
  private final Seq<Attribute> values;
  private final LogicalPlan input;

  /** Spark copies it by this constructor and {@link #productElement}. */
  public AheadNode(
      Seq<String> calls, Seq<String> arguments, String time, Seq<Attribute> values, LogicalPlan input) {
    this.calls = calls;
    this.arguments = arguments;
    this.time = time;
    this.values = values;
    this.input = input;
  }

  /**
   * Adds it to the rows of a DataFrame, for Python. {@code calls}: what describes each, as JSON;
   * {@code arguments}: the columns with the STRUCTs of their arguments, null where a call is not made; {@code time}: the
   * column of the event time; {@code values}: the names of the columns that the calls give.
   */
  public static Dataset<Row> add(
      Dataset<Row> rows, List<String> calls, List<String> arguments, String time, List<String> values) {
    SparkSession session = (SparkSession) rows.sparkSession();
    StepStrategy.add(session);
    LogicalPlan plan = ((org.apache.spark.sql.classic.Dataset<Row>) rows).queryExecution().analyzed();
    List<Attribute> made = new ArrayList<>();
    List<String> normal = new ArrayList<>();
    for (int i = 0; i < calls.size(); i++) {
      normal.add(Call.normal(calls.get(i)));
      StructType given = (StructType) plan.schema().apply(arguments.get(i)).dataType();
      DataType type = new PythonCall(normal.get(i), given).resultType();
      made.add(Attributes.of(new StructField(values.get(i), type, true, Metadata.empty())));
    }
    return org.apache.spark.sql.classic.Dataset.ofRows(
        session, new AheadNode(Scala.seq(normal), Scala.seq(arguments), time, Scala.seq(made), plan));
  }

  /** This on Spark, over the planned rows of its input. */
  AheadExec planned(SparkPlan rows) {
    return new AheadExec(calls, arguments, time, values, rows);
  }

  LogicalPlan input() {
    return input;
  }

  @Override
  public Seq<Attribute> output() {
    return Attributes.together(input.output(), values);
  }

  @Override
  public AttributeSet producedAttributes() {
    return outputSet();
  }

  /** What it takes. Of other columns those pass that are needed above. */
  @Override
  public AttributeSet references() {
    List<String> taken = new ArrayList<>(Scala.list(arguments));
    taken.add(time);
    return Attributes.named(input.outputSet(), taken);
  }

  @Override
  public Seq<LogicalPlan> children() {
    return Scala.seq(List.of(input));
  }

  @Override
  public LogicalPlan withNewChildrenInternal(IndexedSeq<LogicalPlan> children) {
    return new AheadNode(calls, arguments, time, values, Scala.list(children).get(0));
  }

  @Override
  public int productArity() {
    return 5;
  }

  @Override
  public Object productElement(int index) {
    return switch (index) {
      case 0 -> calls;
      case 1 -> arguments;
      case 2 -> time;
      case 3 -> values;
      case 4 -> input;
      default -> throw new IndexOutOfBoundsException(index);
    };
  }

  @Override
  public boolean canEqual(Object other) {
    return other instanceof AheadNode;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof AheadNode that
        && calls.equals(that.calls)
        && arguments.equals(that.arguments)
        && time.equals(that.time)
        && values.equals(that.values)
        && input.equals(that.input);
  }

  @Override
  public int hashCode() {
    return Objects.hash(calls, values, input);
  }
}
