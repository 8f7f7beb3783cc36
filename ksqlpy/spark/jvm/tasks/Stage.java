package ksqlpy.tasks;

import java.util.Arrays;

/** The tasks behind one shuffle, and what was sent to them. */
final class Stage {
  final Reader[] readers;

  /** By the task that sends and the one that takes: one thread adds to each, and one removes. */
  final Pending[][] sent;

  /** Which of the tasks that send run in this JVM. */
  final boolean[] sends;

  Stage(int senders, int tasks) {
    readers = new Reader[tasks];
    Arrays.setAll(readers, i -> new Reader());
    sent = new Pending[senders][tasks];
    for (Pending[] each : sent) {
      Arrays.setAll(each, i -> new Pending());
    }
    sends = new boolean[senders];
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

  /** A task behind a shuffle. */
  static final class Reader {
    volatile boolean ended = false;
    volatile boolean waits = false;

    /** Whether the log has that others went on without it. */
    volatile boolean toldOf = false;

    /** At which look it asked for the row that it waits for; the largest long if it waits for none. */
    volatile long asks = 0;

    /** At which look a row was sent to it last that found no other of the same sender. */
    volatile long sentAt = 0;

    /** Its own, if it runs in this JVM. */
    volatile Thread thread;
  }
}
