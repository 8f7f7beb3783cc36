package ksqlpy.internals;

import java.util.ArrayDeque;
import java.util.Queue;
import ksqlpy.steps.Step;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.types.StructType;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;

/** The rows that a step gives for those of one task, each as soon as it is there. */
abstract class StepRows extends AbstractIterator<InternalRow> {
  private final Step step;
  private final Iterator<InternalRow> rows;
  private final UnsafeProjection projection;
  private final Queue<Object[]> due = new ArrayDeque<>();
  private boolean ended = false;

  StepRows(Step step, StructType input, StructType output, StepState state, Iterator<InternalRow> rows) {
    this.step = step.copy();
    this.rows = rows;
    this.projection = UnsafeProjection.create(output);
    this.step.begin(state, input, output, TaskContext.getPartitionId(), due::add);
  }

  /** After the last row. */
  abstract void done();

  @Override
  public boolean hasNext() {
    while (due.isEmpty() && !ended) {
      if (rows.hasNext()) {
        step.take(rows.next());
      } else {
        ended = true;
        step.end(); // which may give rows, too
        done();
      }
    }
    return !due.isEmpty();
  }

  @Override
  public InternalRow next() {
    if (!hasNext()) {
      throw new java.util.NoSuchElementException();
    }
    return projection.apply(new GenericInternalRow(due.poll()));
  }
}
