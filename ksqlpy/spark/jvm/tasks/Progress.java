package ksqlpy.tasks;

import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import ksqlpy.internals.Tasks;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.util.TaskCompletionListener;

/**
 * The order of time over the tasks of a batch that reads by time: which rows are in work or on their way, by their times.
 *
 * <p>One task reads in the order of time. Whoever sends a row through a shuffle notes it, see {@link Sent}; whoever takes
 * it says when it is done. So each task knows whether an older row may still come: behind a second shuffle it takes its
 * rows in the order of their times ({@link Own#isNext}), and results are sent in that order ({@link Results}), since a
 * query that reads them would take those of a task behind others for late. No task waits for another while it has rows:
 * it keeps what is not due. All tasks must be in this JVM, and run at the same time.
 */
public final class Progress {
  /**
   * By how many ms rows of the last second may be out of order. Without it a row would wait for those that network
   * buffers hold back for some ms; older ones, as of a backlog, are in order.
   */
  private static final long SLACK = 10;

  private static final long LIVE = 1_000;
  private static final long NANOS = 200_000;

  /**
   * A task that asks for a row which was sent so many looks ago, seconds in which this JVM was not stopped, is not waited
   * for, nor one that has not begun by then: a row takes milliseconds, so what was noted for it did not come.
   */
  private static final int LOOKS = 20_000;

  private static final Map<String, Progress> OF = new HashMap<>();

  private final String name;
  private final int tasks;
  private final int patience;
  private final Map<Long, List<Reader>> readersOf = new HashMap<>();
  private final AtomicInteger held = new AtomicInteger();
  private final AtomicInteger waiting = new AtomicInteger();
  private final AtomicLong looks = new AtomicLong();
  private final AtomicLong lookedAt = new AtomicLong(System.nanoTime());
  private volatile Stage[] stages = new Stage[0];
  private volatile Results[] results = new Results[0];
  private int users = 0;

  Progress(String name, int tasks) {
    this(name, tasks, LOOKS);
  }

  /** {@code patience}: after how many looks a task that asks is not waited for. */
  Progress(String name, int tasks, int patience) {
    this.name = name;
    this.tasks = tasks;
    this.patience = patience;
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

  /** The time of the oldest row or result of a query that is noted and not done; the largest long if there is none. */
  static long oldest(String query) {
    List<Progress> found = new ArrayList<>();
    synchronized (OF) {
      OF.forEach(
          (name, each) -> {
            if (name.startsWith(query + ' ')) {
              found.add(each);
            }
          });
    }
    long oldest = Long.MAX_VALUE;
    for (Progress each : found) {
      for (Stage stage : each.stages) {
        for (int i = 0; i < each.tasks; i++) {
          oldest = Math.min(oldest, stage.oldest(i));
        }
      }
      for (Results kept : each.results) {
        oldest = Math.min(oldest, kept.oldest);
      }
    }
    return oldest;
  }

  private void leave() {
    synchronized (OF) {
      if (--users == 0) {
        OF.remove(name, this);
      }
    }
  }

  private static long needed(long time) {
    return time > System.currentTimeMillis() - LIVE ? time - SLACK : time;
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
    Stage to = stage(stage);
    Pending[] sent = to.sent[number];
    return (task, time) -> {
      if (sent[task].isEmpty()) {
        to.readers[task].sentAt = looks.get();
      }
      sent[task].add(time);
    };
  }

  /** Notes rows. */
  interface Sender {
    /** A row of this time is sent to this task. */
    void sent(int task, long time);
  }

  /** The rows of the present task, the {@code number}-th behind the shuffle {@code stage}. */
  public static Own ofTask(int stage, int number, int tasks) {
    Progress batch = ofBatch(tasks);
    Own own = batch.own(stage, number, TaskContext.get().taskAttemptId());
    TaskContext.get().addTaskCompletionListener((TaskCompletionListener) ended -> own.end());
    return own;
  }

  /** That of one task, for its own thread. */
  Own own(int stage, int number, long task) {
    Own own = new Own(stage, number, readersOf(task));
    own.readers.add(own.own);
    return own;
  }

  private List<Reader> readersOf(long task) {
    synchronized (readersOf) {
      return readersOf.computeIfAbsent(Long.valueOf(task), id -> new CopyOnWriteArrayList<>());
    }
  }

  /** What the present task sends as results, with so many tasks behind each shuffle. */
  public static Results ofResults(int tasks, Target target) {
    Progress batch = ofBatch(tasks);
    Results made = batch.results(TaskContext.get().taskAttemptId(), target);
    TaskContext.get().addTaskCompletionListener((TaskCompletionListener) ended -> made.end());
    return made;
  }

  /** Those of one task. */
  Results results(long task, Target target) {
    Results made = new Results(readersOf(task), target);
    synchronized (this) {
      Results[] more = Arrays.copyOf(results, results.length + 1);
      more[results.length] = made;
      results = more;
    }
    return made;
  }

  /** Whether no task behind the shuffles {@code before} this one, but those left out, has an older row. */
  private boolean reached(long needed, int before, List<Reader> without) {
    Stage[] known = stages;
    for (int s = 0; s < Math.min(before, known.length); s++) {
      Stage stage = known[s];
      for (int i = 0; i < tasks; i++) {
        Reader reader = stage.readers[i];
        if (stage.oldest(i) < needed && !without.contains(reader) && !isGivenUp(reader)) {
          return false;
        }
      }
    }
    return true;
  }

  private boolean isGivenUp(Reader reader) {
    return looks.get() - Math.max(reader.asks, reader.sentAt) > patience;
  }

  private void moved() {
    if (held.get() > 0) {
      sendDue();
    }
    if (waiting.get() > 0) {
      for (Stage stage : stages) {
        for (Reader reader : stage.readers) {
          if (reader.waits) {
            LockSupport.unpark(reader.thread);
          }
        }
      }
    }
  }

  private void sendDue() {
    boolean sent = true;
    while (sent && held.get() > 0) {
      sent = false;
      for (Results each : results) {
        sent |= each.sendIfDue();
      }
    }
  }

  /** A moment of waiting; of those who wait at the same time one counts it. */
  private void look() {
    LockSupport.parkNanos(NANOS);
    long before = lookedAt.get();
    long now = System.nanoTime();
    if (now - before >= NANOS && lookedAt.compareAndSet(before, now)) {
      looks.incrementAndGet();
    }
  }

  private static boolean isStopped() {
    TaskContext task = TaskContext.get();
    return task != null && (task.isInterrupted() || task.isCompleted()) || Thread.currentThread().isInterrupted();
  }

  /** What one task says of its own rows, and asks. */
  public final class Own {
    private final int number;
    private final int stageNumber;
    private final Stage stage;
    private final Reader own;
    private final List<Reader> readers;

    private Own(int stage, int number, List<Reader> readers) {
      this.stageNumber = stage;
      this.number = number;
      this.stage = stage(stage);
      this.own = this.stage.readers[number];
      this.readers = readers;
      own.thread = Thread.currentThread();
    }

    /** How many tasks send rows. */
    public int senders() {
      return stage.sent.length;
    }

    /** It asks for its next row, or has it. */
    public void asks(boolean asking) {
      own.asks = asking ? looks.get() : Long.MAX_VALUE;
    }

    /** Its row, which this task had sent, is done. */
    public void done(int sender) {
      stage.sent[sender][number].remove();
      moved();
    }

    /** How many rows this task has sent so far. */
    public long sent(int sender) {
      return stage.sent[sender][number].added;
    }

    /** Whether no row can come that is older than this one: none is ahead of the shuffle, none on its way. */
    public boolean isNext(long time) {
      long needed = needed(time);
      // In the order in which rows go: one that is sent on meanwhile is noted behind the shuffle before it is done ahead of it.
      return reached(needed, stageNumber, readers) && stage.oldest(number) >= needed;
    }

    /** Waits a moment for rows older than this; false if the task is to stop. */
    public boolean waits(long time) {
      own.waits = true;
      waiting.incrementAndGet();
      try {
        if (!isNext(time)) {
          look();
        }
      } finally {
        waiting.decrementAndGet();
        own.waits = false;
      }
      return !isStopped();
    }

    /** It takes no more rows. */
    void end() {
      own.ended = true;
      moved();
    }
  }

  /** Where results go. */
  public interface Target {
    /** Sends one. */
    void send(InternalRow result) throws IOException;
  }

  /** The results of one task: each is sent when no older one can come of another, by whichever task sees that. */
  public final class Results {
    /** From so many that are kept on, the task waits for others. */
    private static final int MOST = 50_000;

    private static final int PATIENCE = 500;

    private final List<Reader> readers;
    private final Target target;
    private final Queue<Result> due = new ArrayDeque<>();
    private volatile long oldest = Long.MAX_VALUE;
    private volatile Exception failure;

    private Results(List<Reader> readers, Target target) {
      this.readers = readers;
      this.target = target;
    }

    /** Sends a result, or keeps it until it may be sent. Throws what went wrong with earlier ones, too. */
    public void add(long time, InternalRow result) throws IOException {
      check();
      if (oldest == Long.MAX_VALUE && isDue(time)) {
        synchronized (this) {
          target.send(result);
        }
        return;
      }
      int size;
      synchronized (this) {
        held.incrementAndGet();
        due.add(new Result(time, result.copy()));
        size = due.size();
        if (size == 1) {
          oldest = time;
        }
      }
      Progress.this.sendDue();
      if (size > MOST) {
        await(PATIENCE, MOST);
      }
    }

    /** Sends all that it has. Throws what went wrong. */
    public void finish() throws IOException {
      await(Integer.MAX_VALUE, 0);
      check();
    }

    private void await(int most, int size) {
      for (int i = 0; i < most; i++) {
        Progress.this.sendDue();
        synchronized (this) {
          if (due.size() <= size) {
            return;
          }
        }
        if (isStopped()) {
          return; // what comes next sees it, too
        }
        look();
      }
    }

    private void check() throws IOException {
      Exception found = failure;
      if (found != null) {
        throw found instanceof IOException e ? e : new IOException(found);
      }
    }

    private boolean isDue(long time) {
      long needed = needed(time);
      if (!reached(needed, Integer.MAX_VALUE, readers)) {
        return false; // looked at first: a result is kept before its row is done
      }
      for (Results each : results) {
        if (each != this && each.oldest < needed) {
          return false;
        }
      }
      return true;
    }

    private boolean sendIfDue() {
      long time = oldest;
      if (time == Long.MAX_VALUE || !isDue(time)) {
        return false;
      }
      boolean sent = false;
      synchronized (this) {
        while (!due.isEmpty() && isDue(due.element().time)) {
          try {
            target.send(due.element().row);
          } catch (IOException | RuntimeException e) { // it may be another task that sends: this one says so
            failure = e;
            clear();
            return true;
          }
          due.remove();
          held.decrementAndGet();
          oldest = due.isEmpty() ? Long.MAX_VALUE : due.element().time;
          sent = true;
        }
      }
      return sent;
    }

    private void clear() {
      held.addAndGet(-due.size());
      due.clear();
      oldest = Long.MAX_VALUE;
    }

    /** The task sends no more. */
    void end() {
      synchronized (this) {
        clear();
      }
      moved();
    }
  }

  private record Result(long time, InternalRow row) {}

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
    private volatile boolean waits = false;
    /** At which look it asked for the row that it waits for; the largest long if it waits for none. */
    private volatile long asks = 0;
    /** At which look a row was sent to it last that found no other of the same sender. */
    private volatile long sentAt = 0;
    private volatile Thread thread;
  }

  /** The times of the rows that one task sent to another and that are not done: one thread adds, one removes, all look. */
  private static final class Pending {
    private static final int SIZE = 1024;

    private volatile Part first = new Part();
    private volatile long removed = 0;
    private volatile long added = 0;
    private Part last = first;

    boolean isEmpty() {
      return removed == added;
    }

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
