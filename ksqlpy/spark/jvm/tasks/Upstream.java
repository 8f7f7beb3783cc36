package ksqlpy.tasks;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * How far the running queries of this JVM have written their topics, for queries that read these topics and others: an
 * intermediate topic at its end may be behind, since the query that writes it lags, recovers or starts. Its readers wait
 * for it until all is written that came of records before a time ({@link Point#holds}).
 *
 * <p>A query has written what came of the records before an event time when its tasks have read them, nothing older is on
 * its way ({@link Progress}), and the brokers have answered for all results sent until then. Of a task that reads no
 * record the moment counts at which it had read all. One thread of this JVM looks at it, only of topics that others
 * wait for. On a cluster the driver finds it out of what executors say, see {@link UpstreamParts}.
 */
public final class Upstream {
  /** Within how many ms of its time a record is with the broker, if its time is that of its producer. */
  private static final long SENT_WITHIN = 200;

  /** Records that came within so many ms need not wait. */
  private static final long LIVE = 1_000;

  private static final long LOOK_MILLIS = 10;

  /** How long rows may be on their way where nobody notes them, as behind a shuffle of a query that is not read by time. */
  private static final long SETTLE_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

  private static final Writer[] NONE = {};

  static final Map<String, Writer> WRITERS = new HashMap<>();
  private static final Map<String, Sink> SINKS = new HashMap<>();
  private static final AtomicLong WAITING = new AtomicLong();
  static volatile int version = 0;
  private static Thread looking;

  private Upstream() {}

  /** A query writes a topic, and reads these, one a line; it starts. */
  public static void writes(String query, String sources, String topic) {
    synchronized (WRITERS) {
      Writer known = WRITERS.get(query);
      if (known != null && known.topic.equals(topic)) {
        known.sources = Set.of(sources.split("\n"));
        known.begin();
        known.fails(-1);
      } else {
        if (known != null) {
          known.ended = true;
        }
        WRITERS.put(query, new Writer(query, Set.of(sources.split("\n")), topic));
      }
      version++;
    }
  }

  /** A query was stopped: nobody waits for it. */
  public static void ends(String query) {
    synchronized (WRITERS) {
      Writer known = WRITERS.remove(query);
      if (known != null) {
        known.ended = true;
        version++;
      }
    }
  }

  /** A query fails, and is started again and again: behind so many ms it is not waited for. A negative number: it runs. */
  public static void fails(String query, long millis) {
    synchronized (WRITERS) {
      Writer known = WRITERS.get(query);
      if (known != null) {
        known.fails(millis);
      }
    }
  }

  /** Changes with the queries that write. */
  public static int version() {
    return version;
  }

  /** The queries that write a topic; not those that read, also by way of others, what {@code reader} writes. */
  public static Writer[] writers(String topic, String reader) {
    synchronized (WRITERS) {
      List<Writer> found = new ArrayList<>();
      for (Writer writer : WRITERS.values()) {
        if (writer.topic.equals(topic) && !reads(writer, reader, new HashSet<>())) {
          found.add(writer);
        }
      }
      return found.toArray(NONE);
    }
  }

  private static boolean reads(Writer writer, String query, Set<Writer> seen) {
    if (writer.query.equals(query)) {
      return true;
    }
    if (seen.add(writer)) {
      for (Writer other : WRITERS.values()) {
        if (writer.sources.contains(other.topic) && reads(other, query, seen)) {
          return true;
        }
      }
    }
    return false;
  }

  /** A task of a query reads in real time, one of so many in this {@code life} of the query. */
  public static Reader reader(String query, String life, int tasks) {
    Reader reader = new Reader();
    synchronized (WRITERS) {
      Writer writer = WRITERS.get(query);
      if (writer == null && Exchange.isRunning()) { // the driver may not have told of it yet
        writer = new Writer(query, Set.of(), "");
        WRITERS.put(query, writer);
      }
      if (writer != null) {
        writer.add(reader, life, tasks);
      }
    }
    return reader;
  }

  /** What a query sends, for one more of its producers, which says when it is closed. */
  public static Sink sink(String query) {
    synchronized (SINKS) {
      Sink sink = SINKS.computeIfAbsent(query, Sink::new);
      sink.producers++;
      return sink;
    }
  }

  static Sink sinkOf(String query) {
    synchronized (SINKS) {
      return SINKS.get(query);
    }
  }

  /** A task waits for what a query is to write, or does so no more. */
  public static void waits(boolean begins) {
    WAITING.addAndGet(begins ? 1 : -1);
  }

  static boolean waits() {
    return WAITING.get() > 0;
  }

  private static void look() {
    List<Writer> all;
    while (true) {
      synchronized (WRITERS) {
        all = List.copyOf(WRITERS.values());
      }
      for (Writer each : all) {
        if (each.watchers.get() > 0) {
          each.look();
        }
      }
      try {
        Thread.sleep(LOOK_MILLIS);
      } catch (InterruptedException e) {
        return;
      }
    }
  }

  /** How many results a query has sent, and of how many the brokers have answered. */
  public static final class Sink {
    private final String query;
    final AtomicLong sent = new AtomicLong();
    final AtomicLong answered = new AtomicLong();

    private int producers = 0;

    private Sink(String query) {
      this.query = query;
    }

    /** One is sent. */
    public void sends() {
      sent.incrementAndGet();
    }

    /** The brokers have one, or never will. */
    public void answers() {
      answered.incrementAndGet();
    }

    /** A producer is closed. */
    public void close() {
      synchronized (SINKS) {
        if (--producers == 0) {
          SINKS.remove(query, this);
        }
      }
    }
  }

  /**
   * How far records are read, or results written: those of records before the event time {@code time}, by tasks at work on
   * one; and, by tasks that had read all, of the records that were there at {@code moment} (ms since 1970). The largest
   * long where there is no such task.
   */
  public record Point(long time, long moment) {
    /** Nothing is known to be done. */
    public static final Point NONE = new Point(Long.MIN_VALUE, Long.MIN_VALUE);

    /** There is nothing to wait for. */
    public static final Point ALL = new Point(Long.MAX_VALUE, Long.MAX_VALUE);

    /** What both have done. */
    public Point and(Point other) {
      return new Point(Math.min(time, other.time), Math.min(moment, other.moment));
    }

    /**
     * Whether all that came of records before this event time is there; for one within the last second, all before that
     * second. {@code now}: ms since 1970.
     */
    public boolean holds(long needed, long now) {
      return time >= Math.min(needed, now - LIVE) && moment >= now - LIVE + SENT_WITHIN;
    }
  }

  /** Where a task is that reads; it says so itself. */
  public static final class Reader {
    private static final long NO_RECORD = Long.MAX_VALUE;

    /** Of the record in work, by event time; looked at before {@link #rest}. */
    private volatile long at = NO_RECORD;

    /** What is done while no record is in work. */
    private volatile Point rest = Point.NONE;

    private volatile Writer writer;

    /** Whether a task uses it: between two batches it is kept, and the next one may have another, on another executor. */
    volatile boolean used = true;

    /** A task uses it from now on, or does so no more. */
    public void use(boolean begins) {
      used = begins;
    }

    /** It works on a record of this event time. */
    public void reads(long time) {
      at = time;
    }

    /** It works on no record, and has read so much. */
    public void hasRead(Point point) {
      rest = point;
      at = NO_RECORD;
    }

    Point point() {
      long time = at;
      return time == NO_RECORD ? rest : new Point(time, Long.MAX_VALUE);
    }

    /** It reads no more. */
    public void close() {
      Writer known = writer;
      if (known != null) {
        known.remove(this);
      }
    }

    /** Whether somebody waits for what its query writes. */
    public boolean isWatched() {
      Writer known = writer;
      return known != null && (known.watched || known.watchers.get() > 0);
    }
  }

  /** The queries that write. */
  public static List<Writer> all() {
    synchronized (WRITERS) {
      return List.copyOf(WRITERS.values());
    }
  }

  /** A query that writes a topic. */
  public static final class Writer {
    private final String query;
    final AtomicLong watchers = new AtomicLong();
    final List<Reader> readers = new ArrayList<>();
    volatile String topic;
    volatile Set<String> sources;
    String life = "";
    int tasks;
    /** Whether tasks of other executors wait for it now and then. */
    volatile boolean watched = false;
    private volatile int begun = 0;
    private Point next; // null while there is none
    private long nextSince;
    private Sink nextSink;
    private long nextSent;
    volatile Point done = Point.NONE;
    private long failsSince = 0;
    /** By {@link System#nanoTime}; 0: without an end. */
    private volatile long waitedUntil = 0;
    volatile boolean ended = false;

    Writer(String query, Set<String> sources, String topic) {
      this.query = query;
      this.sources = sources;
      this.topic = topic;
    }

    /** Its id. */
    public String query() {
      return query;
    }

    /** What it writes. */
    public String topic() {
      return topic;
    }

    /** What it reads. */
    public Set<String> sources() {
      return sources;
    }

    /** How often it was started. */
    public int begun() {
      return begun;
    }

    /** So much is written, as others know who see all of its tasks. */
    public void done(Point written) {
      done = written;
    }

    /** What it has written; all if it is not to be waited for. */
    public Point done() {
      long until = waitedUntil;
      return ended || until != 0 && System.nanoTime() >= until ? Point.ALL : done;
    }

    private synchronized void fails(long millis) {
      if (millis < 0) {
        failsSince = 0;
        waitedUntil = 0;
      } else {
        failsSince = failsSince == 0 ? System.nanoTime() : failsSince;
        waitedUntil = failsSince + TimeUnit.MILLISECONDS.toNanos(millis);
      }
    }

    /** Somebody begins to wait for it now and then, or does so no more. */
    public void watch(boolean begins) {
      watchers.addAndGet(begins ? 1 : -1);
      synchronized (WRITERS) {
        if (looking == null && !Exchange.isRunning()) {
          looking = new Thread(Upstream::look, "progress of queries");
          looking.setDaemon(true);
          looking.start();
        }
      }
    }

    private synchronized void begin() {
      begun++;
      readers.forEach(each -> each.writer = null);
      readers.clear();
      life = "";
      next = null;
      done = Point.NONE;
    }

    private synchronized void add(Reader reader, String of, int count) {
      if (!of.equals(life)) {
        begin();
        life = of;
      }
      tasks = count;
      readers.add(reader);
      reader.writer = this;
    }

    private synchronized void remove(Reader reader) {
      readers.remove(reader);
      reader.writer = null;
    }

    private synchronized void look() {
      if (next == null) {
        Point read = read();
        if (read.equals(done)) {
          return;
        }
        next = read;
        nextSince = System.nanoTime();
        nextSent = -1;
      }
      if (nextSent < 0 && System.nanoTime() - nextSince >= SETTLE_NANOS && Progress.oldest(query) >= next.time()) {
        nextSink = sinkOf(query);
        nextSent = nextSink == null ? 0 : nextSink.sent.get();
      }
      if (nextSent == 0 || nextSent > 0 && nextSink.answered.get() >= nextSent) {
        done = next;
        next = null;
      }
    }

    private Point read() {
      if (readers.isEmpty() || readers.size() < tasks) {
        return Point.NONE;
      }
      Point all = Point.ALL;
      for (Reader each : readers) {
        all = all.and(each.point());
      }
      return all;
    }
  }
}
