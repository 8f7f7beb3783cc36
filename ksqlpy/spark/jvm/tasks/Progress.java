package ksqlpy.tasks;

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import ksqlpy.internals.Tasks;
import org.apache.spark.TaskContext;
import org.apache.spark.util.TaskCompletionListener;

/**
 * How far the tasks behind a shuffle are, in event time, so that none is far ahead of the others: their results lie in
 * one topic, and a query that reads it would take those of the tasks behind for late.
 *
 * <p>One task reads in the order of time and notes each row that it sends, see {@link Sent}. A task behind the shuffle
 * works on its next row when no other has a row that is older by more than {@link #SLACK}, be it in work or on its way.
 * Rows of one task keep their order. All tasks must be in this JVM, and run at the same time.
 */
public final class Progress {
  /**
   * By how many ms a task may be ahead. Without any, tasks would hand over to each other at each row: 20 µs. Live, results
   * of several tasks lie as far apart as the tasks' own pace lets them.
   */
  private static final long SLACK = 10;

  private static final long NANOS = 500_000;

  private static final Map<String, Progress> OF = new HashMap<>();

  private final String name;
  private final Pending[] tasks;
  private final AtomicInteger waiting = new AtomicInteger();
  private int users = 0;

  Progress(String name, int tasks) {
    this.name = name;
    this.tasks = new Pending[tasks];
    for (int i = 0; i < tasks; i++) {
      this.tasks[i] = new Pending();
    }
  }

  /** That of the batch that the present task belongs to, with so many tasks behind the shuffle. */
  static Progress ofBatch(int tasks) {
    TaskContext task = TaskContext.get();
    String batch =
        task.getLocalProperty(Tasks.QUERY)
            + ' ' + task.getLocalProperty("spark.jobGroup.id")
            + ' ' + task.getLocalProperty("streaming.sql.batchId");
    Progress found;
    synchronized (OF) {
      found = OF.computeIfAbsent(batch, name -> new Progress(name, tasks));
      found.users++;
    }
    task.addTaskCompletionListener((TaskCompletionListener) ended -> found.leave());
    return found;
  }

  private void leave() {
    synchronized (OF) {
      if (--users == 0) {
        OF.remove(name, this);
      }
    }
  }

  /** A row of this time is sent to this task; by the one task that reads. */
  void sent(int task, long time) {
    tasks[task].add(time);
  }

  /** The rows of the present task, the {@code number}-th behind the shuffle. */
  public static Own ofTask(int number, int tasks) {
    Progress batch = ofBatch(tasks);
    Own own = batch.own(number);
    TaskContext.get().addTaskCompletionListener((TaskCompletionListener) ended -> own.end());
    return own;
  }

  /** That of one task, for its own thread. */
  Own own(int number) {
    return new Own(number);
  }

  /** What one task says of its own rows. */
  public final class Own {
    private final int number;
    private final Pending own;

    private Own(int number) {
      this.number = number;
      this.own = tasks[number];
      own.thread = Thread.currentThread();
    }

    /** Its row is done. */
    public void done() {
      own.remove();
      if (waiting.get() > 0) {
        wake();
      }
    }

    /** Waits until no other task is far behind a row of this time, which is the task's next. */
    public void await(long time) {
      long needed = time - SLACK;
      if (othersReach(needed)) {
        return;
      }
      own.needed = needed;
      waiting.incrementAndGet();
      try {
        while (!othersReach(needed)) {
          LockSupport.parkNanos(NANOS);
          TaskContext task = TaskContext.get();
          if (task != null && (task.isInterrupted() || task.isCompleted()) || Thread.currentThread().isInterrupted()) {
            return; // what comes next sees it, too
          }
        }
      } finally {
        waiting.decrementAndGet();
        own.needed = Long.MAX_VALUE;
      }
    }

    private boolean othersReach(long needed) {
      for (int i = 0; i < tasks.length; i++) {
        if (i != number && tasks[i].oldest() < needed) {
          return false;
        }
      }
      return true;
    }

    private void wake() {
      long oldest = own.oldest();
      for (Pending each : tasks) {
        if (each.needed <= oldest) {
          LockSupport.unpark(each.thread);
        }
      }
    }

    /** It takes no more rows. */
    void end() {
      own.ended = true;
      if (waiting.get() > 0) {
        wake();
      }
    }
  }

  /** The times of the rows that were sent to one task and are not done: one thread adds, one removes, all look. */
  private static final class Pending {
    private static final int SIZE = 1024;

    private volatile Part first = new Part();
    private volatile long removed = 0;
    private volatile long added = 0;
    private Part last = first;
    private volatile boolean ended = false;
    private volatile Thread thread;
    private volatile long needed = Long.MAX_VALUE;

    void add(long time) {
      long at = added;
      if (at > 0 && at % SIZE == 0) {
        Part next = new Part();
        next.begin = at;
        last.next = next;
        last = next;
      }
      last.times[(int) (at % SIZE)] = time;
      added = at + 1;
    }

    void remove() {
      long at = removed;
      if (at >= added) {
        return; // of a row that was not noted
      }
      removed = at + 1;
      if ((at + 1) % SIZE == 0 && first.next != null) {
        first = first.next;
      }
    }

    /** The time of the first row that is not done; the largest long if all are. */
    long oldest() {
      if (ended) {
        return Long.MAX_VALUE;
      }
      while (true) {
        long at = removed;
        if (at >= added) {
          return Long.MAX_VALUE;
        }
        Part part = first;
        if (at - part.begin == SIZE && part.next != null) {
          part = part.next; // the one that removes is about to go on
        }
        if (at >= part.begin && at - part.begin < SIZE) {
          return part.times[(int) (at % SIZE)];
        }
      }
    }

    private static final class Part {
      private final long[] times = new long[SIZE];
      private long begin = 0;
      private volatile Part next;
    }
  }
}
