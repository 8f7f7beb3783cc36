package ksqlpy.tasks;

/** The times of the rows that one task sent to another and that are not done: one thread adds, one removes, all look. */
final class Pending {
  private static final int SIZE = 1024;

  private volatile Part first = new Part();
  private volatile long removed = 0;
  private volatile long added = 0;
  private Part last = first;

  /** How many rows a task of this JVM has done that one of another executor has sent. */
  private volatile long doneHere = 0;

  /** How many a task of another executor has sent. */
  private volatile long sentElsewhere = 0;

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

  /** Of this many in all; false if that is no news. */
  boolean removeUpTo(long count) {
    boolean news = removed < count;
    while (removed < Math.min(count, added)) {
      remove();
    }
    return news;
  }

  void doneOfElsewhere() {
    doneHere = doneHere + 1;
  }

  long doneHere() {
    return doneHere;
  }

  void sentElsewhere(long count) {
    sentElsewhere = count;
  }

  /** How many rows were sent. */
  long count() {
    return Math.max(added, sentElsewhere);
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
