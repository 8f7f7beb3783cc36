package ksqlpy.tasks;

/** The rows that one thread of a task hands to another, by their times: one says that it adds one, one that it is done. */
public final class Handed {
  private final Pending rows = new Pending();

  private Handed() {}

  /** Those of the present task. */
  public static Handed ofTask() {
    return of(Progress.ofBatch(1));
  }

  /** Those of a task of this batch. */
  static Handed of(Progress batch) {
    Handed made = new Handed();
    batch.handed.add(made.rows);
    return made;
  }

  /** A row of this time. */
  public void add(long time) {
    rows.add(time);
  }

  /** The next row is done. */
  public void done() {
    rows.remove();
  }
}
