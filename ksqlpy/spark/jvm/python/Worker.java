package ksqlpy.python;

import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.util.BitSet;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.apache.spark.sql.catalyst.InternalRow;

/** A worker process, which one thread uses at a time, and its time limit, which another thread watches. */
final class Worker {
  /** Ns in which a function that is stopped may say where it was. */
  private static final long GRACE = 200_000_000L;

  /** Ns to wait where a worker takes no more requests for now. */
  private static final long FULL = 20_000;

  /** Ns that importing a function's modules may take. */
  private static final long LOADING = 30_000_000_000L;

  private static final long IDLE = 0;
  private static final long STOPPED = 2;
  private static final int LOAD = -1;

  /** Is added to the number of a call after which the worker shall look for the next one. */
  private static final int LOOK = 1 << 30;

  /** Is added to the number of a call whose answer may go out with that of the next one, which is on its way. */
  private static final int FOLLOWED = 1 << 29;

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
    CallFailed failure = failure(call, status, length + Integer.BYTES);
    if (stopped) { // also without a failure: it may have taken the signal for something else
      throw late(limit, failure == null ? "" : failure.traceback);
    }
    if (failure != null) {
      throw failure;
    }
  }

  /** What an answer says but for its value, which is to be read next; null if it has one. {@code end}: of the answer. */
  private CallFailed failure(Call call, int status, int end) throws IOException {
    String[] told;
    try {
      if ((status & PRINTED) != 0) {
        Failures.printed(call, new String(in.getBytes(), StandardCharsets.UTF_8));
      }
      if ((status & FAILED) == 0) {
        return null;
      }
      told = new String(in.bytes, in.at, end - in.at, StandardCharsets.UTF_8).split("\n", 3);
    } catch (IndexOutOfBoundsException | IllegalStateException e) {
      throw new IOException("the worker answers what it must not", e); // functions share a process with who answers
    }
    spent |= told[0].equals("MemoryError"); // it would be short of memory from now on
    return new CallFailed(told[0], told.length > 1 ? told[1] : told[0], told.length > 2 ? told[2] : "");
  }

  private static CallFailed late(long limit, String traceback) {
    return new CallFailed(CallFailed.LATE, "it took longer than " + limit / 1_000_000 + " ms", traceback);
  }

  private int length;

  // -------------------------------------------------------------- several calls

  /** Appends a request that another one follows; where it begins. */
  static int put(Call call, InternalRow arguments, Frame to) {
    int begin = to.at;
    to.putInt(0);
    to.putInt(call.id | FOLLOWED);
    PythonType[] takes = call.takes;
    for (int i = 0; i < takes.length; i++) {
      takes[i].write(arguments, i, to);
    }
    to.setInt(begin, to.at - begin - Integer.BYTES);
    return begin;
  }

  /**
   * Sends requests of {@link #put}, of which {@code last} begins the last one; {@link #next} gives their values. Throws as
   * {@link #ask}, and IOException where a time limit has passed.
   */
  void send(Call[] calls, Frame requests, int last) throws IOException {
    long limit = 0;
    for (Call call : calls) {
      if (!known.get(call.id)) {
        load(call);
      }
      limit = Math.max(limit, call.limit);
    }
    int at = last + Integer.BYTES;
    int end = requests.at;
    requests.at = at;
    int number = requests.getInt();
    requests.at = end;
    requests.setInt(at, number & ~FOLLOWED);
    in.clear();
    there = 0;
    ByteBuffer bytes = requests.view(0, end);
    link.block(false);
    long moved = System.nanoTime();
    while (!link.writeNow(bytes)) {
      int count = answered();
      if (count > 0) {
        moved = System.nanoTime();
      } else if (System.nanoTime() - moved > limit) {
        throw new IOException("a time limit has passed");
      } else {
        LockSupport.parkNanos(FULL);
      }
    }
    link.block(true);
  }

  private int there; // bytes in {@code in}

  /** Reads answers that are there: a worker that cannot send them reads no requests. How many bytes these are. */
  private int answered() throws IOException {
    in.at = there;
    in.room(1);
    in.at = 0;
    int count = link.readNow(in.view(there, in.bytes.length));
    if (count < 0) {
      throw new EOFException("the worker has ended");
    }
    there += count;
    return count;
  }

  /**
   * The value of the next call. Throws CallFailed where the function gives none, and IOException where the worker is gone or
   * a time limit has passed; whose it is, is not known: it must not be used again.
   */
  Object next(Call call) throws IOException {
    more(Integer.BYTES + 1, call.limit);
    length = in.getInt();
    if (length < 1 || length > LARGEST) {
      throw new IOException("an answer of " + length + " bytes");
    }
    more(length, call.limit);
    int end = in.at + length;
    int status = in.bytes[in.at++];
    CallFailed failure = failure(call, status, end);
    Object value = null;
    if (failure == null) {
      try {
        value = call.gives.read(in);
      } catch (IndexOutOfBoundsException | IllegalStateException | NumberFormatException e) {
        throw new IOException("the worker answers what it must not", e);
      }
    }
    in.at = end;
    if (failure != null) {
      throw failure;
    }
    return value;
  }

  /** Whether all that has come is read. */
  boolean isRead() {
    return in.at == there;
  }

  /** Reads on until so many bytes are there behind those that are read. */
  private void more(int wanted, long limit) throws IOException {
    if (there - in.at >= wanted) {
      return;
    }
    there -= in.at;
    System.arraycopy(in.bytes, in.at, in.bytes, 0, there);
    in.at = 0;
    in.room(wanted);
    while (there < wanted) {
      long until = System.nanoTime() + limit | 1;
      deadline.set(until);
      int count = link.read(in.view(there, in.bytes.length));
      if (!deadline.compareAndSet(until, IDLE)) {
        throw new IOException("a time limit has passed");
      }
      if (count < 0) {
        throw new EOFException("the worker has ended");
      }
      there += count;
    }
  }

  // -------------------------------------------------------------- answers

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
