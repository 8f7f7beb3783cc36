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
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import ksqlpy.internals.Tasks;
import ksqlpy.tasks.Stage.Reader;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.util.TaskCompletionListener;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The order of time over the tasks of a batch that reads by time: which rows are in work or on their way, by their times.
 *
 * <p>One task reads in the order of time. Whoever sends a row through a shuffle notes it, see {@link Sent}; whoever takes
 * it says when it is done. So each task knows whether an older row may still come: behind a second shuffle it takes its
 * rows in the order of their times ({@link Own#isNext}), and results are sent in that order ({@link Results}), since a
 * query that reads them would take those of a task behind others for late. No task waits for another while it has rows:
 * it keeps what is not due. All tasks must run at the same time. Those of other executors tell by way of the driver, see
 * {@link Exchange}; what this JVM knows of them is a {@link View}.
 */
public final class Progress {
  private static final Logger LOG = LoggerFactory.getLogger(Progress.class);

  /**
   * By how many ms rows of the last second may be out of order. Without it a row would wait for those that network
   * buffers hold back for some ms; older ones, as of a backlog, are in order.
   */
  private static final long SLACK = 10;

  /** The same over executors, who hear from each other every {@link Exchange#PAUSE} ms. */
  private static final long SLACK_OF_EXECUTORS = 1_000;

  private static final long LIVE = 1_000;
  private static final long NANOS = 200_000;

  /**
   * A task that asks for a row which was sent so many looks ago, a minute in which this JVM was not stopped, is not waited
   * for, nor one that has not begun by then: a row takes milliseconds, so what was noted for it did not come. On a machine
   * with more to do than it can, a row takes seconds, and so does the start of a task; results that passed it would be out
   * of order, and late for the queries that read them.
   */
  private static final int LOOKS = 300_000;

  /** For so long a batch whose tasks here have ended waits for other executors to do its rows. */
  private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(30);

  static final Map<String, Progress> OF = new HashMap<>();

  final String name;
  final String query;
  private final int tasks;
  private final int patience;
  private final Map<Long, List<Reader>> readersOf = new HashMap<>();
  private final AtomicInteger held = new AtomicInteger();
  private final AtomicInteger waiting = new AtomicInteger();
  private final AtomicLong looks = new AtomicLong();
  private final AtomicLong lookedAt = new AtomicLong(System.nanoTime());
  private volatile Stage[] stages = new Stage[0];
  private volatile Results[] results = new Results[0];
  final List<Pending> handed = new CopyOnWriteArrayList<>();
  private volatile View view;
  private long slack = SLACK;
  private int users = 0;
  private long leftAt = 0;

  Progress(String name, int tasks) {
    this(name, tasks, LOOKS);
  }

  /** {@code patience}: after how many looks a task that asks is not waited for. */
  Progress(String name, int tasks, int patience) {
    this(name, name, tasks, patience, View.ALONE);
  }

  /** {@code view}: what is known of other executors. */
  Progress(String name, String query, int tasks, int patience, View view) {
    this.name = name;
    this.query = query;
    this.tasks = tasks;
    this.patience = patience;
    this.view = view;
    this.slack = view == View.ALONE ? SLACK : SLACK_OF_EXECUTORS;
  }

  /** That of the batch that the present task belongs to, with so many tasks behind each shuffle. */
  static Progress ofBatch(int tasks) {
    TaskContext task = TaskContext.get();
    String query = task.getLocalProperty(Tasks.QUERY);
    String batch =
        query
            + ' ' + task.getLocalProperty("spark.jobGroup.id")
            + ' ' + task.getLocalProperty("streaming.sql.batchId");
    Progress found;
    synchronized (OF) {
      found =
          OF.computeIfAbsent(
              batch, name -> new Progress(name, query, tasks, LOOKS, Exchange.isRunning() ? View.UNKNOWN : View.ALONE));
      found.users++;
    }
    task.addTaskCompletionListener((TaskCompletionListener) ended -> found.leave());
    return found;
  }

  /** The time of the oldest row or result of a query that is noted and not done; the largest long if there is none. */
  static long oldest(String query) {
    List<Progress> found = new ArrayList<>();
    synchronized (OF) {
      for (Progress each : OF.values()) {
        if (each.query.equals(query)) {
          found.add(each);
        }
      }
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
      for (Pending rows : each.handed) {
        oldest = Math.min(oldest, rows.oldest());
      }
    }
    return oldest;
  }

  private void leave() {
    synchronized (OF) {
      if (--users == 0) {
        leftAt = System.nanoTime();
        if (view == View.ALONE) {
          OF.remove(name, this);
        }
      }
    }
  }

  /** Whether its tasks have ended, and what they sent to other executors is done, while {@link #OF} is locked. */
  boolean isLeft() {
    return users == 0 && (isAllDone() || System.nanoTime() - leftAt > PATIENCE_NANOS);
  }

  private boolean isAllDone() {
    for (Stage stage : stages) {
      for (int i = 0; i < tasks; i++) {
        if (stage.oldest(i) != Long.MAX_VALUE) {
          return false;
        }
      }
    }
    return true;
  }

  /** How many are behind each shuffle. */
  int tasks() {
    return tasks;
  }

  Stage[] stages() {
    return stages;
  }

  /** Whether something is kept, or waits. */
  boolean isWaiting() {
    return held.get() > 0 || waiting.get() > 0;
  }

  long looks() {
    return looks.get();
  }

  /** More is known of other executors. To be followed by {@link #moved}, in another thread: results may be due. */
  void sees(View news) {
    view = news;
  }

  Stage stage(int number) {
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
    to.sends[number] = true;
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
  private boolean reached(long needed, View seen, int before, List<Reader> without) {
    Stage[] known = stages;
    for (int s = 0; s < Math.min(before, Math.max(known.length, seen.stages())); s++) {
      for (int i = 0; i < tasks; i++) {
        Reader reader = s < known.length ? known[s].readers[i] : null;
        long oldest = Math.min(seen.oldest(s, i), reader == null ? Long.MAX_VALUE : known[s].oldest(i));
        if (oldest < needed && !without.contains(reader) && (reader == null || !isGivenUp(reader, s, i))) {
          return false;
        }
      }
    }
    return true;
  }

  /** Whether nothing older can come than a row or result of this time, which was there at {@code mark}. */
  private boolean isFirst(long time, long mark, Look look) {
    boolean live = time > System.currentTimeMillis() - LIVE;
    long needed = live ? time - slack : time;
    View seen;
    do {
      seen = view;
      if (!(live ? seen.isFresh() : seen.covers(mark)) || !look.isClear(seen, needed)) {
        return false;
      }
    } while (seen != view); // what is done here meanwhile may have left its place only to come up there
    return true;
  }

  boolean isGivenUp(Reader reader, int stage, int number) {
    if (looks.get() - Math.max(reader.asks, reader.sentAt) <= patience) {
      return false;
    }
    if (!reader.toldOf) {
      reader.toldOf = true;
      LOG.warn(
          "query {}: task {} behind shuffle {} {}; its results may come behind newer ones",
          query,
          Integer.valueOf(number),
          Integer.valueOf(stage),
          reader.asks == 0 ? "has not begun" : "waits for a row that was sent and has not come");
    }
    return true;
  }

  /** A look for what is older than {@code needed}. */
  private interface Look {
    boolean isClear(View seen, long needed);
  }

  /** Sends what is due, and wakes who waits. */
  void moved() {
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

    /** How many rows of each sender it has. */
    private final long[] taken;

    private Own(int stage, int number, List<Reader> readers) {
      this.stageNumber = stage;
      this.number = number;
      this.stage = stage(stage);
      this.own = this.stage.readers[number];
      this.readers = readers;
      this.taken = new long[this.stage.sent.length];
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
      if (stage.sends[sender]) {
        stage.sent[sender][number].remove();
      } else {
        stage.sent[sender][number].doneOfElsewhere();
      }
      moved();
    }

    /** It has one more row of this sender, before that is done. */
    public void takes(int sender) {
      taken[sender]++;
    }

    /** Whether rows were sent that it has not. */
    public boolean isOnItsWay() {
      for (int i = 0; i < taken.length; i++) {
        if (stage.sent[i][number].count() > taken[i]) {
          return true;
        }
      }
      return false;
    }

    /** Whether a task of another executor may have sent an older row than those that it has. */
    private boolean isMissed() {
      for (int i = 0; i < taken.length; i++) {
        Pending sent = stage.sent[i][number];
        // Of its rows that are here the first is looked at; those behind are newer.
        if (!stage.sends[i] && taken[i] == sent.doneHere() && taken[i] < sent.count()) {
          return true;
        }
      }
      return false;
    }

    /** The moment, for {@link #isNext} of a row that is taken now. */
    public long mark() {
      return Exchange.mark();
    }

    /** Whether no row can come that is older than this one: none is ahead of the shuffle, none on its way. */
    public boolean isNext(long time, long mark) {
      // In the order in which rows go: one that is sent on meanwhile is noted behind the shuffle before it is done ahead of it.
      return isFirst(
          time,
          mark,
          (seen, needed) ->
              reached(needed, seen, stageNumber, readers) && stage.oldest(number) >= needed && !isMissed());
    }

    /** Waits a moment for rows older than this; false if the task is to stop. */
    public boolean waits(long time, long mark) {
      own.waits = true;
      waiting.incrementAndGet();
      try {
        if (!isNext(time, mark)) {
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
    private volatile long oldestMark = 0;
    private volatile Exception failure;

    private Results(List<Reader> readers, Target target) {
      this.readers = readers;
      this.target = target;
    }

    /** Sends a result, or keeps it until it may be sent. Throws what went wrong with earlier ones, too. */
    public void add(long time, InternalRow result) throws IOException {
      check();
      long mark = Exchange.mark();
      if (oldest == Long.MAX_VALUE && isDue(time, mark)) {
        synchronized (this) {
          target.send(result);
        }
        return;
      }
      int size;
      synchronized (this) {
        held.incrementAndGet();
        due.add(new Result(time, mark, result.copy()));
        size = due.size();
        if (size == 1) {
          oldestMark = mark;
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

    private boolean isDue(long time, long mark) {
      // In this order: a result is kept before its row is done.
      return isFirst(time, mark, (seen, needed) -> reached(needed, seen, Integer.MAX_VALUE, readers) && isOldest(needed));
    }

    private boolean isOldest(long needed) {
      for (Results each : results) {
        if (each != this && each.oldest < needed) {
          return false;
        }
      }
      return true;
    }

    private boolean sendIfDue() {
      long time = oldest;
      if (time == Long.MAX_VALUE || !isDue(time, oldestMark)) {
        return false;
      }
      boolean sent = false;
      synchronized (this) {
        while (!due.isEmpty() && isDue(due.element().time, due.element().mark)) {
          try {
            target.send(due.element().row);
          } catch (IOException | RuntimeException e) { // it may be another task that sends: this one says so
            failure = e;
            clear();
            return true;
          }
          due.remove();
          held.decrementAndGet();
          oldestMark = due.isEmpty() ? 0 : due.element().mark;
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

  private record Result(long time, long mark, InternalRow row) {}
}
