package ksqlpy.python;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;

/**
 * Rows of a task with calls that are sent ahead of their answers: while one thread adds rows, and their requests gather in a
 * batch, a worker answers the batch before, and the thread that takes rows works on the one before that. Rows come out in
 * their order. A row that finds nothing on its way goes to the worker at once, so that a call takes no longer than one by
 * itself.
 *
 * <p>A batch that a worker does not answer to its end is asked for call by call, from the first without an answer on: so a
 * call has its time limit, its attempts and its failure to itself ({@link Call#askOr}).
 */
public final class Ahead {
  /** Bytes of requests, rows, and bytes of rows from which on a batch is full at the latest. */
  private static final int MOST_REQUESTED = 1 << 18;

  private static final int MOST_ROWS = 4_000;
  private static final int MOST_BYTES = 1 << 22;

  /** Rows of the first batches. */
  private static final int FIRST_ROWS = 16;

  /** Ns that a batch may be waited for: its first row waits for its last one. Of slow functions fewer calls are a batch. */
  private static final long LONGEST = 10_000_000;

  /** In the place of a value: the call is made by itself, since its arguments do not fit beside others. */
  private static final Object ALONE = new Object();

  private final Call[] calls;

  // Guarded by this object; a batch is of one thread while it is none of these.
  private Batch gathers = new Batch();
  private Batch sent; // it is answered next
  private Batch spare = new Batch();
  private int mostRows = FIRST_ROWS;
  private boolean idle; // who takes rows waits for one
  private boolean ended;
  private boolean closed;
  private Throwable failure;

  // Of the thread that takes rows.
  private Batch given;
  private int at;

  /** {@code specs}: of the calls of a row, see {@link Call#of}. */
  public Ahead(String[] specs) {
    calls = new Call[specs.length];
    for (int i = 0; i < specs.length; i++) {
      calls[i] = Call.of(specs[i]);
    }
  }

  /**
   * Adds a row of so many bytes with the arguments of its calls; null where one is not made. Waits while a batch is full;
   * false if no more rows are taken.
   */
  public synchronized boolean add(InternalRow row, int bytes, InternalRow[] arguments) throws InterruptedException {
    while (gathers.isFull() && !closed) {
      wait();
    }
    if (closed) {
      return false;
    }
    gathers.add(new Entry(row, arguments), bytes);
    if (idle && sent == null) {
      sendIfFree();
      notifyAll();
    }
    return true;
  }

  /** Whether {@link #add} would wait now. */
  public synchronized boolean isFull() {
    return gathers.isFull();
  }

  /** No row comes any more; {@code why}: what the thread that added them has thrown, or null. */
  public synchronized void end(Throwable why) {
    ended = true;
    failure = why;
    notifyAll();
  }

  /** No row is taken any more. */
  public synchronized void close() {
    closed = true;
    notifyAll();
    if (sent != null) {
      sent.giveBack(false);
    }
  }

  /** The next row with the values of its calls; null if there is none. Throws what {@link #end} was told. */
  public Entry next() {
    if (given == null || at == given.rows.size()) {
      Batch batch = due();
      if (batch == null) {
        return null;
      }
      long began = System.nanoTime();
      batch.answer();
      answered(batch, System.nanoTime() - began);
    }
    return given.rows.get(at++);
  }

  /** The batch whose rows come next; null if there is none. */
  private synchronized Batch due() {
    if (given != null) {
      given.clear();
      spare = given;
      given = null;
    }
    while (sent == null && gathers.rows.isEmpty()) {
      if (failure != null) {
        throw Ahead.<RuntimeException>unchecked(failure);
      }
      if (ended) {
        return null;
      }
      awaitRow();
    }
    if (sent == null) {
      turn();
    }
    return sent;
  }

  /** What Scala throws is not declared, whatever it is. */
  @SuppressWarnings("unchecked")
  private static <T extends Throwable> T unchecked(Throwable any) throws T {
    throw (T) any;
  }

  private synchronized void answered(Batch batch, long took) {
    long fit = batch.rows.size() * LONGEST / Math.max(1, took);
    mostRows = (int) Math.max(1, Math.min(fit, Math.min(MOST_ROWS, 2L * mostRows)));
    given = batch;
    at = 0;
    sent = null;
    sendIfFree();
    notifyAll();
  }

  /** What has gathered is answered next. */
  private void turn() {
    sent = gathers;
    gathers = spare == null ? new Batch() : spare;
    spare = null;
    notifyAll();
  }

  /** Nothing is on its way: {@code Tasks.waits} knows a task by this method's name. */
  private void awaitRow() {
    idle = true;
    try {
      wait();
    } catch (InterruptedException e) {
      throw Workers.ending(e);
    } finally {
      idle = false;
    }
  }

  /** Has a worker begin to answer what has gathered, if one can be had without waiting. */
  private void sendIfFree() {
    Worker worker = gathers.last < 0 ? null : Workers.here().takeSpare();
    if (worker != null) {
      turn();
      sent.send(worker);
    }
  }

  /** A row, and its calls: their arguments, then their values. */
  public static final class Entry {
    public final InternalRow row;

    /** As Spark holds them; null also where a call was not made. */
    public final Object[] values;

    private final InternalRow[] arguments;

    private Entry(InternalRow row, InternalRow[] arguments) {
      this.row = row;
      this.arguments = arguments;
      this.values = new Object[arguments.length];
    }
  }

  /** Rows whose calls are sent together. */
  private final class Batch {
    final List<Entry> rows = new ArrayList<>();
    private final Frame requests = new Frame();
    private int last = -1; // where the last request begins
    private long bytes;
    private Worker worker; // that answers it

    boolean isFull() {
      return rows.size() >= mostRows || requests.at >= MOST_REQUESTED || bytes >= MOST_BYTES;
    }

    void add(Entry entry, int size) {
      for (int i = 0; i < calls.length; i++) {
        if (entry.arguments[i] != null) {
          int begin = requests.at;
          try {
            last = Worker.put(calls[i], entry.arguments[i], requests);
          } catch (CallFailed e) {
            requests.at = begin;
            entry.values[i] = ALONE;
          }
        }
      }
      rows.add(entry);
      bytes += size;
    }

    /** Sends the requests to a worker, which is given back if that fails: then each call is made by itself. */
    void send(Worker to) {
      worker = to;
      try {
        to.send(calls, requests, last);
      } catch (IOException | CallFailed e) {
        giveBack(false);
      }
    }

    private void giveBack(boolean whole) {
      Worker known = worker;
      worker = null;
      if (known != null) {
        Workers.here().give(known, whole);
      }
    }

    void clear() {
      rows.clear();
      requests.clear();
      last = -1;
      bytes = 0;
    }

    /** Puts the values into the rows. */
    void answer() {
      if (worker == null && last >= 0 && rows.size() > 1) {
        send(Workers.here().take());
      }
      boolean alone = false;
      try {
        for (Entry row : rows) {
          for (int i = 0; i < calls.length; i++) {
            if (row.values[i] == ALONE) {
              alone = true;
            } else if (row.arguments[i] != null) {
              row.values[i] = answer(calls[i], row.arguments[i]);
            }
          }
        }
        giveBack(worker != null && worker.isRead());
      } finally {
        giveBack(false); // where something was thrown
      }
      if (alone) { // who holds a worker must not wait for one
        answerAlone();
      }
    }

    private void answerAlone() {
      for (Entry row : rows) {
        for (int i = 0; i < calls.length; i++) {
          if (row.values[i] == ALONE) {
            row.values[i] = calls[i].askOr(null, row.arguments[i]);
          }
        }
      }
    }

    private Object answer(Call call, InternalRow arguments) {
      if (worker != null) {
        try {
          return worker.next(call);
        } catch (CallFailed e) {
          call.failed(e);
          return null;
        } catch (IOException e) {
          giveBack(false);
        }
      }
      return call.askOr(null, arguments);
    }
  }
}
