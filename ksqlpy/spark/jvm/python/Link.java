package ksqlpy.python;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The connection to a worker, and how a thread waits for its answer. To wake one that sleeps takes longer than most functions.
 * So where calls follow each other closely, the thread looks for the answer for a while before it sleeps, and asks the worker
 * to look for the next call. Where that does not find it, since the processors have other work, it sleeps at once.
 */
final class Link {
  /** Ns for which an answer is looked for. */
  private static final long LOOK = 20_000;

  /** Ns from an answer to the next call, and from a call to its answer, within which it may be worth to look. */
  private static final long NEAR = 100_000;

  /** So many such calls, and answers are looked for; more where they were not found in time. */
  private static final int FIRST = 16;

  private static final int LAST = 256;

  /** What a call with a slow answer takes back. */
  private static final int SLOW = 8;

  /** Answers found in a row that are worth one that is not found. */
  private static final int WELL = 64;

  /** Threads that look at one time: each needs a processor, and its worker another one. */
  private static final int LOOKERS = Runtime.getRuntime().availableProcessors() / 2;

  private static final AtomicInteger LOOKING = new AtomicInteger();

  private final SocketChannel channel;
  private boolean blocking = true;
  private boolean looking;
  private int near;
  private int wanted = FIRST;
  private int found; // in a row
  private long begun;
  private long ended;

  Link(SocketChannel channel) {
    this.channel = channel;
  }

  void close() throws IOException {
    channel.close();
  }

  /** Begins a call, now; {@link #end} must follow. Whether its answer will be looked for, and the next call shall be. */
  boolean begin(long now) throws IOException {
    begun = now;
    near = now - ended < NEAR ? near + 1 : 0;
    if (near > wanted) {
      looking = LOOKING.incrementAndGet() <= LOOKERS;
      if (!looking) {
        LOOKING.decrementAndGet();
        near = 0;
      }
    }
    block(!looking);
    return looking;
  }

  /** The answer is there, or there is none. */
  void end() {
    ended = System.nanoTime();
    if (looking) {
      looking = false;
      LOOKING.decrementAndGet();
      if (++found > WELL) {
        wanted = FIRST;
      }
    } else if (ended - begun > NEAR) {
      near = Math.max(0, near - SLOW);
    }
  }

  void write(ByteBuffer request) throws IOException {
    while (request.hasRemaining()) {
      if (channel.write(request) == 0) {
        block(true);
      }
    }
  }

  /** Writes what can be written without waiting, of a link that does not block; whether that is all. */
  boolean writeNow(ByteBuffer request) throws IOException {
    while (request.hasRemaining()) {
      if (channel.write(request) == 0) {
        return false;
      }
    }
    return true;
  }

  /** Reads what is there, of a link that does not block; how many bytes, -1 at the end. */
  int readNow(ByteBuffer answer) throws IOException {
    return channel.read(answer);
  }

  /** Waits for some bytes; how many there are, -1 at the end. */
  int read(ByteBuffer answer) throws IOException {
    int count = channel.read(answer);
    if (count == 0) {
      long until = System.nanoTime() + LOOK;
      do {
        Thread.onSpinWait();
        count = channel.read(answer);
      } while (count == 0 && System.nanoTime() - until < 0);
    }
    if (count == 0) {
      if (found < WELL) {
        near = 0;
        wanted = Math.min(LAST, wanted * 4);
      }
      found = -1;
      block(true);
      count = channel.read(answer);
    }
    return count;
  }

  /** Whether {@link #read} sleeps at once. */
  void block(boolean whether) throws IOException {
    if (blocking != whether) {
      channel.configureBlocking(whether);
      blocking = whether;
    }
  }
}
