package ksqlpy.tasks;

import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * How far the tasks have read that read a partition each, on several executors: up to which event time each of them. What
 * they read meets behind a shuffle, where a row waits until all of them have read up to its time.
 *
 * <p>A task is kept from reading far ahead of the others: by {@link #SLACK} ms, or by as many records as are read while
 * executors hear from each other; towards the end of a batch by the first alone, since a batch ends for all at one moment.
 */
final class Sources {
  /** In place of a time: it has not begun. */
  static final long NOT_BEGUN = Long.MIN_VALUE;

  /** It has read all that it knows of. */
  static final long AT_END = Long.MAX_VALUE;

  /** How many ms of event time a task may be ahead of another. */
  private static final long SLACK = 250;

  private static final int MOST = 2_000;
  private static final int MOST_OF_ALL = 40_000;

  private final AtomicLongArray read;
  private final boolean[] here;
  private final int most;

  /** Of so many tasks; one alone needs no order. */
  Sources(int tasks) {
    int count = tasks > 1 ? tasks : 0;
    read = new AtomicLongArray(count);
    here = new boolean[count];
    for (int i = 0; i < count; i++) {
      read.set(i, NOT_BEGUN);
    }
    most = Math.max(1, Math.min(MOST, MOST_OF_ALL / Math.max(1, tasks)));
  }

  int count() {
    return here.length;
  }

  /** Adds {@code {task, time}} of those that run in this JVM. */
  void report(List<long[]> said) {
    for (int i = 0; i < here.length; i++) {
      if (here[i]) {
        said.add(new long[] {i, read.get(i)});
      }
    }
  }

  /** Up to which time all have read but one; {@code without}: its number, or none. */
  long reached(View elsewhere, int without) {
    long oldest = AT_END;
    for (int i = 0; i < here.length; i++) {
      if (i != without) {
        oldest = Math.min(oldest, here[i] ? read.get(i) : elsewhere.read(i));
      }
    }
    return oldest;
  }

  /** That of the task of this number, which runs here. */
  Own own(int number) {
    here[number] = true;
    return new Own(number);
  }

  /** What one task says of itself. For its own thread. */
  final class Own {
    private final int number;
    private final long[] given = new long[most];
    private int at = 0;
    private long newest = NOT_BEGUN;

    private Own(int number) {
      this.number = number;
      Arrays.fill(given, NOT_BEGUN);
    }

    /** It works on a record of this event time. Older ones of its partition are late in it, and hold nobody. */
    void reads(long time) {
      has(time);
      given[at] = newest;
      at = (at + 1) % given.length;
    }

    /** It has read all, or is not waited for any more. */
    void ends() {
      if (read.get(number) != AT_END) {
        read.set(number, AT_END);
      }
    }

    private void has(long time) {
      newest = Math.max(newest, Math.min(time, AT_END - 1));
      if (read.get(number) != newest) {
        read.set(number, newest);
      }
    }

    /** Whether its next record, of this time, is not too far ahead. {@code strictly}: by time alone. */
    boolean mayGive(long time, boolean strictly, View elsewhere) {
      has(time);
      long reached = reached(elsewhere, number);
      if (reached == NOT_BEGUN) {
        return false;
      }
      long bound = reached > AT_END - SLACK ? AT_END : reached + SLACK;
      return time <= bound || !strictly && given[at] <= bound;
    }
  }
}
