package ksqlpy.internals;

/**
 * Ends this JVM at once when the server that it belongs to has died. Spark's orderly end would close states under tasks that
 * still run, in which RocksDB crashes; the next server goes on from the checkpoints, as behind any death.
 */
final class Orphan {
  /** Time in which the children of a process that was killed get another parent, behind the end of their input. */
  private static final long PATIENCE_MS = 100;

  private static final long SERVER = parent();

  static {
    Runtime.getRuntime().addShutdownHook(new Thread(Orphan::look, "ksqlpy orphan"));
  }

  private Orphan() {}

  /** Looks at each end of this JVM, whether its parent of now is still there. */
  static void watch() {}

  private static long parent() {
    return ProcessHandle.current().parent().map(ProcessHandle::pid).orElse(0L);
  }

  private static void look() {
    long end = System.currentTimeMillis() + PATIENCE_MS;
    try {
      while (parent() == SERVER && System.currentTimeMillis() < end) {
        Thread.sleep(5);
      }
    } catch (InterruptedException e) {
      return;
    }
    if (parent() != SERVER) {
      Runtime.getRuntime().halt(0);
    }
  }
}
