package ksqlpy.internals;

import java.util.NoSuchElementException;
import java.util.concurrent.TimeUnit;
import ksqlpy.python.Ahead;
import ksqlpy.source.Working;
import ksqlpy.tasks.Handed;
import org.apache.spark.TaskContext;
import org.apache.spark.TaskContext$;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.JoinedRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.util.TaskCompletionListener;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;

/**
 * The rows of a task with the values of their calls, see {@link Ahead}. A second thread draws the rows, as Spark's own
 * operators for Python do; it ends ahead of what it draws from.
 */
final class RowsAhead extends AbstractIterator<InternalRow> {
  private static final Logger LOG = LoggerFactory.getLogger(RowsAhead.class);
  private static final long ENDS_WITHIN = TimeUnit.SECONDS.toMillis(10);

  private final Iterator<InternalRow> rows;
  private final int[] widths;
  private final int[] arguments;
  private final int time;
  private final Ahead ahead;
  private final Handed handed = Handed.ofTask();
  private final JoinedRow joined = new JoinedRow();
  private final Thread draws;
  private Ahead.Entry next;
  private boolean begun;
  private boolean given;

  RowsAhead(Iterator<InternalRow> rows, String[] calls, StructType schema, int[] arguments, int time) {
    this.rows = rows;
    this.arguments = arguments;
    this.time = time;
    ahead = new Ahead(calls);
    widths = new int[arguments.length];
    for (int i = 0; i < widths.length; i++) {
      widths[i] = ((StructType) schema.fields()[arguments[i]].dataType()).length();
    }
    TaskContext task = TaskContext.get();
    draws = new Thread(() -> draw(task), "rows with calls (TID " + task.taskAttemptId() + ")"); // as Tasks.busy knows it
    draws.setDaemon(true);
    task.addTaskCompletionListener((TaskCompletionListener) ended -> end());
  }

  private void draw(TaskContext task) {
    TaskContext$.MODULE$.setTaskContext(task);
    Throwable failure = null;
    try {
      boolean more = rows.hasNext();
      while (more) {
        more = add(rows.next().copy()) && rows.hasNext();
      }
    } catch (Throwable e) {
      failure = e;
    } finally {
      ahead.end(failure);
      TaskContext$.MODULE$.unset();
    }
  }

  private boolean add(InternalRow row) throws InterruptedException {
    InternalRow[] of = new InternalRow[arguments.length];
    for (int i = 0; i < of.length; i++) {
      of[i] = row.isNullAt(arguments[i]) ? null : row.getStruct(arguments[i], widths[i]);
    }
    if (ahead.isFull()) {
      Working.handsOver(); // or it would be this record that is seen at each death of the JVM
    }
    handed.add(row.getLong(time)); // ahead of the next row, so that it is not taken for done
    return ahead.add(row, row instanceof UnsafeRow unsafe ? unsafe.getSizeInBytes() : 0, of);
  }

  @Override
  public boolean hasNext() {
    if (next != null) {
      return true;
    }
    if (given) { // whoever asks for more is done with what he has
      given = false;
      handed.done();
    }
    if (!begun) {
      begun = true;
      draws.start();
    }
    next = ahead.next();
    return next != null;
  }

  @Override
  public InternalRow next() {
    if (!hasNext()) {
      throw new NoSuchElementException();
    }
    InternalRow row = joined.apply(next.row, new GenericInternalRow(next.values));
    next = null;
    given = true;
    return row;
  }

  private void end() {
    ahead.close();
    draws.interrupt();
    try {
      draws.join(ENDS_WITHIN);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    if (draws.isAlive()) {
      LOG.warn("{} goes on behind its task", draws.getName());
    }
  }
}
