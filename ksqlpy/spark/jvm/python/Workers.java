package ksqlpy.python;

import java.io.IOException;
import java.nio.channels.ClosedByInterruptException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.Set;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.apache.spark.sql.catalyst.InternalRow;

/**
 * The workers of this JVM, which all queries share. A call takes the one that was used last, or waits until there are less
 * calls than there may be workers.
 */
final class Workers {
  /** How often a call is made whose worker is gone without its doing: others may have killed it. */
  private static final int ATTEMPTS = 3;

  /** Ms between looks at the time limits. */
  private static final long LOOK = 10;

  private static Workers here;

  private final Settings settings = Settings.here();
  private final Semaphore free = new Semaphore(settings.workers(), true);
  private final ConcurrentLinkedDeque<Worker> idle = new ConcurrentLinkedDeque<>();
  private final Set<Worker> all = ConcurrentHashMap.newKeySet();
  private Zygote zygote;

  private Workers() {
    Thread thread = new Thread(this::watch, "python time limits");
    thread.setDaemon(true);
    thread.start();
  }

  static synchronized Workers here() {
    if (here == null) {
      here = new Workers();
    }
    return here;
  }

  /** The value of a call. Throws CallFailed, and Unasked where there is no Python, or the task is to end. */
  Object ask(Call call, InternalRow arguments) {
    acquire();
    long began = System.nanoTime();
    try {
      for (int attempt = 1; ; attempt++) {
        Worker worker = next(attempt == 1);
        boolean whole = false;
        try {
          Object value = worker.ask(call, arguments);
          whole = true;
          return value;
        } catch (CallFailed e) {
          whole = true;
          throw e;
        } catch (ClosedByInterruptException e) {
          throw ending(e);
        } catch (IOException e) {
          if (attempt == ATTEMPTS) {
            CallFailed died = new CallFailed(CallFailed.DIED, "its worker has ended " + ATTEMPTS + " times", "");
            if (worker.loading()) { // each row would start so many
              call.notLoaded(died, System.nanoTime() - began);
            }
            throw died;
          }
        } finally {
          settle(worker, whole);
        }
      }
    } finally {
      free.release();
    }
  }

  /** A worker for several calls, until {@link #give}; it waits as {@link #ask} does, and throws Unasked. */
  Worker take() {
    acquire();
    return taken();
  }

  /** The same, but null if no other one is free beside it. */
  Worker takeSpare() {
    if (!free.tryAcquire()) {
      return null;
    }
    if (free.availablePermits() == 0) {
      free.release();
      return null;
    }
    return taken();
  }

  private Worker taken() {
    boolean whole = false;
    try {
      Worker worker = next(true);
      whole = true;
      return worker;
    } finally {
      if (!whole) {
        free.release();
      }
    }
  }

  /** Gives a worker back; {@code whole}: it has answered all. */
  void give(Worker worker, boolean whole) {
    settle(worker, whole);
    free.release();
  }

  private void acquire() {
    try {
      free.acquire();
    } catch (InterruptedException e) {
      throw ending(e);
    }
  }

  private Worker next(boolean known) {
    Worker worker = known ? idle.pollFirst() : null;
    return worker == null ? begin() : worker;
  }

  private void settle(Worker worker, boolean whole) {
    if (whole && !worker.spent()) {
      idle.addFirst(worker);
    } else {
      all.remove(worker);
      worker.end();
    }
  }

  static Unasked ending(Exception e) {
    Thread.currentThread().interrupt();
    return new Unasked("the task is to end", e);
  }

  private Worker begin() {
    for (int attempt = 1; ; attempt++) {
      Zygote forking = null;
      try {
        forking = zygote();
        Worker made = forking.fork();
        all.add(made);
        return made;
      } catch (InterruptedException e) {
        throw ending(e);
      } catch (IOException e) {
        if (attempt == ATTEMPTS || forking == null || !gone(forking)) { // others may have killed that, too
          throw new Unasked(
              "Python (" + settings.executable() + ") runs no functions here: " + e.getMessage(), e);
        }
      }
    }
  }

  private static boolean gone(Zygote forking) {
    try {
      return forking.process.waitFor(1, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      throw ending(e);
    }
  }

  private synchronized Zygote zygote() throws IOException {
    if (zygote == null || !zygote.alive()) {
      zygote = new Zygote(settings);
    }
    return zygote;
  }

  private void watch() {
    while (true) {
      long now = System.nanoTime();
      all.forEach(worker -> worker.watch(now));
      try {
        Thread.sleep(LOOK);
      } catch (InterruptedException e) {
        return;
      }
    }
  }
}
