package ksqlpy.source;

import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import ksqlpy.tasks.Alignment;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.common.TopicPartition;

/**
 * Whether a task that reads one partition may go on beside those that read the others of its query, see {@link Alignment}.
 * That another has read all it knows of is taken from it live; for older records, as behind a lag, its broker is asked.
 */
final class Beside implements AutoCloseable {
  /** Records that came within so many ms need no proof that the others are at their end. */
  private static final long LIVE = 1_000;

  /** For how long such a proof counts: what comes later is newer than what lags. */
  private static final long PROVEN_NANOS = TimeUnit.MILLISECONDS.toNanos(250);

  private static final long PAUSE_NANOS = TimeUnit.MICROSECONDS.toNanos(50);

  private static final long ASK_NANOS = TimeUnit.MILLISECONDS.toNanos(5);

  /** A task that has not moved for so long, while this JVM was not stopped, is not waited for. */
  private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(30);

  /** What counts of the time between two looks: a stop of this JVM takes longer. */
  private static final long LOOK_NANOS = TimeUnit.SECONDS.toNanos(1);

  private final Alignment.Member own;
  private final Consumer<byte[], byte[]> consumer;
  private long proven = System.nanoTime() - PROVEN_NANOS;
  private long asked = System.nanoTime() - ASK_NANOS;
  private long looked;
  private long waited;
  private long since;

  /** Who is behind, and how far it was then. */
  private Alignment.Member awaited;

  private long awaitedAt;

  /** Who is not waited for until it moves, and how far it was then. */
  private Alignment.Member passed;

  private long passedAt;

  Beside(Alignment.Member own, Consumer<byte[], byte[]> consumer) {
    this.own = own;
    this.consumer = consumer;
  }

  /** Whether its next record, of this event time, may be given. */
  boolean mayGive(long time) {
    own.has(time);
    if (own.isWithin(time)) {
      awaited = null;
      return true;
    }
    if (passed != null && passed.at() != passedAt) {
      passed = null;
    }
    Alignment.Member found = own.isComplete() ? own.behind(time, passed) : own;
    if (found == null && time < System.currentTimeMillis() - LIVE) {
      found = notAtEnd();
    }
    if (found == null) {
      awaited = null;
      return true;
    }
    return isTooLong(found);
  }

  private boolean isTooLong(Alignment.Member found) {
    long reached = found == own ? 0 : found.at();
    long now = System.nanoTime();
    if (found != awaited || reached != awaitedAt) {
      awaited = found;
      awaitedAt = reached;
      waited = 0;
      since = System.currentTimeMillis();
    } else {
      waited += Math.min(LOOK_NANOS, now - looked);
    }
    looked = now;
    if (waited < PATIENCE_NANOS) {
      return false;
    }
    if (found != own) {
      passed = found;
      passedAt = reached;
    }
    return true;
  }

  /** One that takes itself to be at its end, but is not for sure; null if all are. */
  private Alignment.Member notAtEnd() {
    long now = System.nanoTime();
    if (now - proven < PROVEN_NANOS) {
      return null;
    }
    if (awaited != null && awaited.isAtEnd() && now - asked < ASK_NANOS) {
      return awaited; // it has not yet got what its broker has
    }
    asked = now;
    List<Alignment.Member> others = own.atEnd();
    if (passed != null) {
      others.remove(passed);
    }
    Map<TopicPartition, Long> next = new HashMap<>();
    others.forEach(each -> next.put(each.place(), Long.valueOf(each.position())));
    if (!next.isEmpty()) {
      Map<TopicPartition, Long> ends;
      try {
        ends = consumer.endOffsets(next.keySet(), Duration.ofMillis(500));
      } catch (org.apache.kafka.common.errors.TimeoutException e) {
        return others.get(0);
      }
      for (Alignment.Member each : others) {
        if (ends.get(each.place()).longValue() > next.get(each.place()).longValue()) {
          return each;
        }
      }
    }
    proven = now;
    return null;
  }

  /** It has no record, and its broker has told of no more than these offsets. */
  void ends(long next) {
    awaited = null;
    own.ends(next);
  }

  /** Whether the record asked for last waits for another task; {@link #place}, since {@link #since}. */
  boolean waits() {
    return awaited != null;
  }

  String place() {
    return awaited.place().toString();
  }

  /** In ms since 1970. */
  long since() {
    return since;
  }

  void pause() {
    LockSupport.parkNanos(PAUSE_NANOS);
  }

  @Override
  public void close() {
    own.leave();
  }
}
