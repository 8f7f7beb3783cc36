package ksqlpy.internals;

import java.io.Serializable;
import java.util.List;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.plans.physical.Partitioning;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.types.StructType;
import scala.collection.Iterator;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;
import scala.runtime.AbstractFunction1;

/** An {@link AheadNode} on Spark. */
public final class AheadExec extends SparkPlan {
  private static final long serialVersionUID = 1L;

  private final Seq<String> calls;
  private final Seq<String> arguments;
  private final String time;
  private final Seq<Attribute> values;
  private final SparkPlan input;

  /** Spark copies it by this constructor and {@link #productElement}. */
  public AheadExec(Seq<String> calls, Seq<String> arguments, String time, Seq<Attribute> values, SparkPlan input) {
    this.calls = calls;
    this.arguments = arguments;
    this.time = time;
    this.values = values;
    this.input = input;
  }

  @Override
  public Seq<Attribute> output() {
    return Attributes.together(input.output(), values);
  }

  @Override
  public AttributeSet producedAttributes() {
    return outputSet();
  }

  @Override
  public Partitioning outputPartitioning() {
    return input.outputPartitioning();
  }

  @Override
  public Seq<SparkPlan> children() {
    return Scala.seq(List.of(input));
  }

  @Override
  public SparkPlan withNewChildrenInternal(IndexedSeq<SparkPlan> children) {
    return new AheadExec(calls, arguments, time, values, Scala.list(children).get(0));
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
    return other instanceof AheadExec;
  }

  @Override
  public RDD<InternalRow> doExecute() {
    ClassTag<InternalRow> rows = ClassTag$.MODULE$.apply(InternalRow.class);
    return input.execute().mapPartitions(new Work(this), true, rows);
  }

  private static final class Work extends AbstractFunction1<Iterator<InternalRow>, Iterator<InternalRow>>
      implements Serializable {
    private static final long serialVersionUID = 1L;

    private final String[] calls;
    private final StructType schema;
    private final int[] arguments;
    private final int time;

    Work(AheadExec plan) {
      calls = Scala.list(plan.calls).toArray(new String[0]);
      schema = plan.input.schema();
      arguments = Scala.list(plan.arguments).stream().mapToInt(schema::fieldIndex).toArray();
      time = schema.fieldIndex(plan.time);
    }

    @Override
    public Iterator<InternalRow> apply(Iterator<InternalRow> rows) {
      return new RowsAhead(rows, calls, schema, arguments, time);
    }
  }
}
