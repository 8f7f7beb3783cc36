package ksqlpy.tasks;

import java.util.Arrays;

/**
 * What is known of a batch's tasks on other executors, as of the last answer of the driver. An older row may have come
 * up there since, but none that was on its way when this JVM had a row whose mark it {@link #covers}.
 */
final class View {
  /** There are no other executors. */
  static final View ALONE = new View(new long[0][], Long.MAX_VALUE, 0);

  /** The driver has not answered yet. */
  static final View UNKNOWN = new View(new long[0][], -1, System.nanoTime());

  private final long[][] oldest;
  private final long covered;
  private final long until;

  /**
   * {@code oldest}: by shuffle and task behind it, the time of the oldest row that tasks there have sent and that is not
   * done; the largest long where there is none. {@code covered}: all of them had known of the exchange of this number
   * before they said so; {@code until}: how long it is fresh, by {@link System#nanoTime}.
   */
  View(long[][] oldest, long covered, long until) {
    this.oldest = oldest;
    this.covered = covered;
    this.until = until;
  }

  /** As {@link #oldest} says, with nothing in it. */
  static long[][] nothing(int stages, int tasks) {
    long[][] made = new long[stages][tasks];
    for (long[] each : made) {
      Arrays.fill(each, Long.MAX_VALUE);
    }
    return made;
  }

  int stages() {
    return oldest.length;
  }

  long oldest(int stage, int task) {
    return stage < oldest.length ? oldest[stage][task] : Long.MAX_VALUE;
  }

  /** Whether it knows of all that was on its way at this {@link Exchange#mark}. */
  boolean covers(long mark) {
    return covered > mark;
  }

  /** Whether it is so new that it says enough of the last second. */
  boolean isFresh() {
    return this == ALONE || System.nanoTime() - until < 0;
  }
}
