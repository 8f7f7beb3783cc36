package ksqlpy.python;

import java.io.EOFException;
import java.io.IOException;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.util.BitSet;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.spark.sql.catalyst.InternalRow;

/** A worker process, which one thread uses at a time, and its time limit, which another thread watches. */
final class Worker {
  /** Ns in which a function that is stopped may say where it was. */
  private static final long GRACE = 200_000_000L;

  /** Ns that importing a function's modules may take. */
  private static final long LOADING = 30_000_000_000L;

  private static final long IDLE = 0;
  private static final long STOPPED = 2;
  private static final int LOAD = -1;

  /** Is added to the number of a call after which the worker shall look for the next one. */
  private static final int LOOK = 1 << 30;

  private static final int FAILED = 1;
  private static final int PRINTED = 2;
  private static final int LARGEST = 1 << 25;

  private final Zygote zygote;
  private final int number;
  private final Link link;
  private final BitSet known = new BitSet();
  private final Frame out = new Frame();
  private final Frame in = new Frame();

  /** When the request must be answered, an odd number; or IDLE, or STOPPED. */
  private final AtomicLong deadline = new AtomicLong(IDLE);

  private long killAt; // of the thread that watches
  private boolean spent;
  private boolean loading;

  Worker(Zygote zygote, int number, SocketChannel channel) {
    this.zygote = zygote;
    this.number = number;
    link = new Link(channel);
  }

  /** Whether it must not be used again. */
  boolean spent() {
    return spent;
  }

  /** Whether it loads a function, or has ended while it did. */
  boolean loading() {
    return loading;
  }

  /** Ends it. */
  void end() {
    spent = true;
    zygote.kill(number);
    try {
      link.close();
    } catch (IOException e) {
      return; // it is gone
    }
  }

  /** The value of a call; without arguments, null, and the call is known. It throws CallFailed where the function gives none, and IOException where the worker is gone. */
  Object ask(Call call, InternalRow arguments) throws IOException {
    if (!known.get(call.id)) {
      load(call);
    }
    if (arguments == null) {
      return null;
    }
    out.clear();
    out.at = Integer.BYTES;
    out.putInt(call.id);
    PythonType[] takes = call.takes;
    for (int i = 0; i < takes.length; i++) {
      takes[i].write(arguments, i, out);
    }
    long now = System.nanoTime();
    try {
      if (link.begin(now)) {
        out.setInt(Integer.BYTES, call.id | LOOK);
      }
      send(call, now + call.limit, call.limit);
    } finally {
      link.end();
    }
    try {
      return call.gives.read(in);
    } catch (IndexOutOfBoundsException | IllegalStateException | NumberFormatException e) {
      throw new IOException("the worker answers what it must not", e); // functions share a process with who answers
    }
  }

  private void load(Call call) throws IOException {
    call.checkLoaded();
    loading = true;
    out.clear();
    out.at = Integer.BYTES;
    out.putInt(LOAD);
    out.room(call.described.length);
    System.arraycopy(call.described, 0, out.bytes, out.at, call.described.length);
    out.at += call.described.length;
    long began = System.nanoTime();
    try {
      link.block(true);
      send(call, began + LOADING, LOADING);
    } catch (CallFailed e) {
      loading = false;
      call.notLoaded(e, System.nanoTime() - began);
      throw e;
    }
    loading = false;
    known.set(call.id);
  }

  /** Sends the request; then the answer's value is to be read next. */
  private void send(Call call, long until, long limit) throws IOException {
    out.setInt(0, out.at - Integer.BYTES);
    long end = until | 1;
    deadline.set(end);
    int status;
    boolean stopped;
    try {
      link.write(out.view(0, out.at));
      status = answer();
    } catch (IOException e) {
      if (deadline.get() != STOPPED) {
        throw e;
      }
      throw late(limit, "");
    } finally {
      stopped = !deadline.compareAndSet(end, IDLE);
      spent |= stopped; // a signal may still be on its way
    }
    if ((status & PRINTED) != 0) {
      Failures.printed(call, new String(in.getBytes(), StandardCharsets.UTF_8));
    }
    if ((status & FAILED) == 0) {
      if (stopped) { // it may have taken the signal for something else
        throw late(limit, "");
      }
      return;
    }
    String[] told = new String(in.bytes, in.at, end(in) - in.at, StandardCharsets.UTF_8).split("\n", 3);
    String traceback = told.length > 2 ? told[2] : "";
    if (stopped) {
      throw late(limit, traceback);
    }
    spent |= told[0].equals("MemoryError"); // it would be short of memory from now on
    throw new CallFailed(told[0], told.length > 1 ? told[1] : told[0], traceback);
  }

  private static CallFailed late(long limit, String traceback) {
    return new CallFailed(CallFailed.LATE, "it took longer than " + limit / 1_000_000 + " ms", traceback);
  }

  private int length;

  private int end(Frame frame) {
    return length + Integer.BYTES;
  }

  /** Reads an answer whole; its status. */
  private int answer() throws IOException {
    in.clear();
    int there = fill(0, Integer.BYTES + 1);
    length = in.getInt();
    if (length < 1 || length > LARGEST) {
      spent = true;
      throw new IOException("an answer of " + length + " bytes");
    }
    int whole = length + Integer.BYTES;
    if (whole > there) {
      in.room(whole - in.at);
      there = fill(there, whole);
    }
    if (there > whole) {
      throw new IOException("the worker answers twice"); // the next call would get it
    }
    return in.bytes[in.at++];
  }

  /** Reads on until so many bytes are there; how many are there. */
  private int fill(int there, int wanted) throws IOException {
    int count = there;
    while (count < wanted) {
      int more = link.read(in.view(count, in.bytes.length));
      if (more < 0) {
        throw new EOFException("the worker has ended");
      }
      count += more;
    }
    return count;
  }

  /** Ends what takes too long: asks it to say where it is, then kills it. */
  void watch(long now) {
    long end = deadline.get();
    if (end == STOPPED) {
      if (now - killAt > 0) {
        end();
      }
    } else if (end != IDLE && now - end > 0 && deadline.compareAndSet(end, STOPPED)) {
      killAt = now + GRACE;
      zygote.stop(number);
    }
  }
}
