package ksqlpy.internals;

import java.io.Serializable;
import java.util.List;
import ksqlpy.tasks.Progress;
import org.apache.spark.TaskContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.physical.Partitioning;
import org.apache.spark.sql.execution.SparkPlan;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;
import scala.runtime.AbstractFunction1;

/** An {@link InStepNode} on Spark. */
public final class InStepExec extends SparkPlan {
  private static final long serialVersionUID = 1L;

  private final int stage;
  private final String time;
  private final String sender;
  private final int tasks;
  private final SparkPlan input;

  /** Spark copies it by this constructor and {@link #productElement}. */
  public InStepExec(int stage, String time, String sender, int tasks, SparkPlan input) {
    this.stage = stage;
    this.time = time;
    this.sender = sender;
    this.tasks = tasks;
    this.input = input;
  }

  @Override
  public Seq<Attribute> output() {
    return input.output();
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
    return new InStepExec(stage, time, sender, tasks, Scala.list(children).get(0));
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
    return other instanceof InStepExec;
  }

  @Override
  public RDD<InternalRow> doExecute() {
    ClassTag<InternalRow> rows = ClassTag$.MODULE$.apply(InternalRow.class);
    RDD<InternalRow> below = input.execute();
    return below.mapPartitions(new Work(this), true, rows);
  }

  private static final class Work extends AbstractFunction1<Iterator<InternalRow>, Iterator<InternalRow>>
      implements Serializable {
    private static final long serialVersionUID = 1L;

    private final int stage;
    private final int time;
    private final int sender;
    private final int tasks;

    Work(InStepExec plan) {
      this.stage = plan.stage;
      this.time = plan.input.schema().fieldIndex(plan.time);
      this.sender = plan.input.schema().fieldIndex(plan.sender);
      this.tasks = plan.tasks;
    }

    @Override
    public Iterator<InternalRow> apply(Iterator<InternalRow> rows) {
      Progress.Own own = Progress.ofTask(stage, TaskContext.getPartitionId(), tasks);
      // What the one task ahead of the first shuffle sends comes in its order.
      return stage == 0 ? new Noted(rows, own) : new RowsByTime(rows, time, sender, own);
    }
  }

  private static final class Noted extends AbstractIterator<InternalRow> {
    private final Iterator<InternalRow> rows;
    private final Progress.Own own;
    private boolean given = false;

    Noted(Iterator<InternalRow> rows, Progress.Own own) {
      this.rows = rows;
      this.own = own;
    }

    @Override
    public boolean hasNext() {
      if (given) { // whoever asks for more is done with what he has
        given = false;
        own.done(0);
      }
      own.asks(true);
      boolean more = rows.hasNext();
      own.asks(false);
      return more;
    }

    @Override
    public InternalRow next() {
      InternalRow row = rows.next();
      given = true;
      return row;
    }
  }
}
