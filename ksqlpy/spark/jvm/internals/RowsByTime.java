package ksqlpy.internals;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Queue;
import ksqlpy.tasks.Progress;
import org.apache.spark.sql.catalyst.InternalRow;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;

/**
 * The rows of a task behind a second shuffle, or a later one, in the order of their times: those of several tasks, each
 * of which sends them in that order. A row that comes too early is kept until no older one can come.
 */
final class RowsByTime extends AbstractIterator<InternalRow> {
  /** From so many rows that are kept on, the task takes more only now and then. */
  private static final int MOST = 50_000;

  private static final int PATIENCE = 500;

  private final Iterator<InternalRow> rows;
  private final int time;
  private final int sender;
  private final Progress.Own own;
  private final List<Queue<Kept>> kept = new ArrayList<>();
  private int size = 0;
  private boolean ended = false;
  private InternalRow next; // what is given next
  private int given = -1; // who sent the row that is in work

  /** {@code time}, {@code sender}: the columns of a row's time and of the task that sent it. */
  RowsByTime(Iterator<InternalRow> rows, int time, int sender, Progress.Own own) {
    this.rows = rows;
    this.time = time;
    this.sender = sender;
    this.own = own;
    for (int i = 0; i < own.senders(); i++) {
      kept.add(new ArrayDeque<>());
    }
  }

  @Override
  public boolean hasNext() {
    if (given >= 0) { // whoever asks for more is done with what he has
      own.done(given);
      given = -1;
    }
    int looks = 0;
    while (next == null && (size > 0 || !ended)) {
      if (size == 0) {
        take();
        continue;
      }
      Queue<Kept> first = first();
      long at = first.element().time;
      long mark = first.element().mark;
      if (own.isNext(at, mark)) {
        give(first);
      } else if (!ended && own.isOnItsWay() && (size < MOST || looks > PATIENCE)) {
        take();
        looks = 0;
      } else if (own.waits(at, mark)) {
        looks++;
      } else {
        give(first); // whoever takes it sees that the task is to stop
      }
    }
    return next != null;
  }

  private Queue<Kept> first() {
    Queue<Kept> first = null;
    for (Queue<Kept> each : kept) {
      Kept row = each.peek();
      if (row != null && (first == null || row.time < first.element().time)) {
        first = each;
      }
    }
    return first;
  }

  private void take() {
    own.asks(true);
    boolean more = rows.hasNext();
    own.asks(false);
    if (!more) {
      ended = true;
      return;
    }
    InternalRow row = rows.next();
    int from = row.getInt(sender);
    own.takes(from);
    long at = row.getLong(time);
    long mark = own.mark();
    if (size == 0 && own.isNext(at, mark)) {
      next = row;
    } else {
      kept.get(from).add(new Kept(at, mark, row.copy()));
      size++;
    }
  }

  private void give(Queue<Kept> first) {
    next = first.remove().row;
    size--;
  }

  @Override
  public InternalRow next() {
    if (!hasNext()) {
      throw new NoSuchElementException();
    }
    InternalRow row = next;
    given = row.getInt(sender);
    next = null;
    return row;
  }

  /** {@code mark}: when it was taken. */
  private record Kept(long time, long mark, InternalRow row) {}
}
