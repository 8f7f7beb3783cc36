package ksqlpy.tasks;

import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import ksqlpy.internals.Tasks;
import org.apache.spark.TaskContext;
import org.apache.spark.util.TaskCompletionListener;

/**
 * How far the tasks behind shuffles are, in event time, so that none is far ahead of the others: their results lie in
 * one topic, and a query that reads it would take those of the tasks behind for late.
 *
 * <p>One task reads in the order of time. Whoever sends a row through a shuffle notes it, see {@link Sent}. A task
 * behind the first shuffle works on its next row when there is no row elsewhere that is older by more than {@link
 * #SLACK}, be it in work or on its way, behind whichever shuffle. Tasks behind later shuffles never wait, so all rows
 * come to an end. Rows of one task keep their order. All tasks must be in this JVM, and run at the same time.
 */
public final class Progress {
  /**
   * By how many ms a task may be ahead. Without any, tasks would hand over to each other at each row: 20 µs. Live, results
   * of several tasks lie as far apart as the tasks' own pace lets them.
   */
  private static final long SLACK = 10;

  private static final long NANOS = 500_000;

  /**
   * After so many looks, seconds in which this JVM was not stopped, a task that asks for rows is not waited for: a row
   * takes milliseconds to it, so what was noted for it did not come.
   */
  private static final int LOOKS = 10_000;

  private static final Map<String, Progress> OF = new HashMap<>();

  private final String name;
  private final int tasks;
  private final AtomicInteger waiting = new AtomicInteger();
  private volatile Stage[] stages = new Stage[0];
  private int users = 0;

  Progress(String name, int tasks) {
    this.name = name;
    this.tasks = tasks;
  }

  /** That of the batch that the present task belongs to, with so many tasks behind each shuffle. */
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

  private Stage stage(int number) {
    Stage[] known = stages;
    if (number < known.length) {
      return known[number];
    }
    synchronized (this) {
      while (number >= stages.length) {
        Stage[] more = Arrays.copyOf(stages, stages.length + 1);
        more[stages.length] = new Stage(stages.length == 0 ? 1 : tasks, tasks);
        stages = more;
      }
      return stages[number];
    }
  }

  /** What one task sends through the shuffle of this number, from 0 on; the first has one such task, 0. */
  Sender sender(int stage, int number) {
    Pending[] sent = stage(stage).sent[number];
    return (task, time) -> sent[task].add(time);
  }

  /** Notes rows. */
  interface Sender {
    /** A row of this time is sent to this task. */
    void sent(int task, long time);
  }

  /** The rows of the present task, the {@code number}-th behind the shuffle {@code stage}. */
  public static Own ofTask(int stage, int number, int tasks) {
    Progress batch = ofBatch(tasks);
    Own own = batch.own(stage, number);
    TaskContext.get().addTaskCompletionListener((TaskCompletionListener) ended -> own.end());
    return own;
  }

  /** That of one task, for its own thread. */
  Own own(int stage, int number) {
    return new Own(stage(stage), number);
  }

  /** What one task says of its own rows. */
  public final class Own {
    private final Stage stage;
    private final int number;
    private final Reader own;

    private Own(Stage stage, int number) {
      this.stage = stage;
      this.number = number;
      this.own = stage.readers[number];
      own.thread = Thread.currentThread();
    }

    /** It asks for its next row, or has it. */
    public void asks(boolean asking) {
      own.asking = asking;
    }

    /** Its row, which this task had sent, is done. */
    public void done(int sender) {
      stage.sent[sender][number].remove();
      if (waiting.get() > 0) {
        wake();
      }
    }

    /** Waits until no other task has a row that is far older than this one, the next of a task behind the first shuffle. */
    public void await(long time) {
      long needed = time - SLACK;
      if (othersReach(needed, false)) {
        return;
      }
      own.needed = needed;
      waiting.incrementAndGet();
      try {
        for (int looks = 0; !othersReach(needed, looks > LOOKS); looks++) {
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

    private boolean othersReach(long needed, boolean inVain) {
      for (Stage each : stages) {
        for (int i = 0; i < tasks; i++) {
          Reader reader = each.readers[i];
          if (reader != own && !(inVain && reader.asking) && each.oldest(i) < needed) {
            return false;
          }
        }
      }
      return true;
    }

    private void wake() {
      long oldest = stage.oldest(number);
      for (Reader each : stages[0].readers) {
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

  /** The tasks behind one shuffle, and what was sent to them. */
  private static final class Stage {
    private final Reader[] readers;
    /** By the task that sends and the one that takes: one thread adds to each, and one removes. */
    private final Pending[][] sent;

    Stage(int senders, int tasks) {
      readers = new Reader[tasks];
      Arrays.setAll(readers, i -> new Reader());
      sent = new Pending[senders][tasks];
      for (Pending[] each : sent) {
        Arrays.setAll(each, i -> new Pending());
      }
    }

    /** The time of the oldest row that comes next of a sender and is not done by this task; else the largest long. */
    long oldest(int task) {
      long oldest = Long.MAX_VALUE;
      if (!readers[task].ended) {
        for (Pending[] each : sent) {
          oldest = Math.min(oldest, each[task].oldest());
        }
      }
      return oldest;
    }
  }

  /** A task behind a shuffle. */
  private static final class Reader {
    private volatile boolean ended = false;
    private volatile boolean asking = false;
    private volatile Thread thread;
    private volatile long needed = Long.MAX_VALUE;
  }

  /** The times of the rows that were one task sent to another and that are not done: one thread adds, one removes, all look. */
  private static final class Pending {
    private static final int SIZE = 1024;

    private volatile Part first = new Part();
    private volatile long removed = 0;
    private volatile long added = 0;
    private Part last = first;

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
      if (at - first.begin == SIZE) {
        first = first.next;
      }
      removed = at + 1;
    }

    /** The time of the first row that is not done; the largest long if all are. */
    long oldest() {
      while (true) {
        long at = removed;
        if (at >= added) {
          return Long.MAX_VALUE;
        }
        Part part = first;
        if (at - part.begin == SIZE) {
          part = part.next; // the row is the first of the next part
        }
        long place = at - part.begin;
        if (place >= 0 && place < SIZE) { // else whoever removes rows went on meanwhile
          return part.times[(int) place];
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
