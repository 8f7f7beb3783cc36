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

  private final String time;
  private final SparkPlan input;

  /** Spark copies it by this constructor and {@link #productElement}. */
  public InStepExec(String time, SparkPlan input) {
    this.time = time;
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
    return new InStepExec(time, Scala.list(children).get(0));
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
    return other instanceof InStepExec;
  }

  @Override
  public RDD<InternalRow> doExecute() {
    ClassTag<InternalRow> rows = ClassTag$.MODULE$.apply(InternalRow.class);
    RDD<InternalRow> below = input.execute();
    return below.mapPartitions(new Work(input.schema().fieldIndex(time), below.getNumPartitions()), true, rows);
  }

  private static final class Work extends AbstractFunction1<Iterator<InternalRow>, Iterator<InternalRow>>
      implements Serializable {
    private static final long serialVersionUID = 1L;

    private final int time;
    private final int tasks;

    Work(int time, int tasks) {
      this.time = time;
      this.tasks = tasks;
    }

    @Override
    public Iterator<InternalRow> apply(Iterator<InternalRow> rows) {
      Progress.Own own = Progress.ofTask(TaskContext.getPartitionId(), tasks);
      return new AbstractIterator<InternalRow>() {
        private boolean given = false;

        @Override
        public boolean hasNext() {
          if (given) { // whoever asks for more is done with what he has
            given = false;
            own.done();
          }
          return rows.hasNext();
        }

        @Override
        public InternalRow next() {
          InternalRow row = rows.next();
          own.await(row.getLong(time));
          given = true;
          return row;
        }
      };
    }
  }
}
