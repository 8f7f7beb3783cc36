package ksqlpy.source;

import java.util.ArrayDeque;
import java.util.Set;
import ksqlpy.tasks.Upstream;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;

/** One partition that {@link Merge} reads: what is at hand of it, and what is known of its end. For the thread of its task. */
final class Lane {
  static final Upstream.Writer[] NO_WRITERS = {};

  final TopicPartition place;
  final ArrayDeque<ConsumerRecord<byte[], byte[]>> records = new ArrayDeque<>();
  ConsumerRecord<byte[], byte[]> head;
  long time;
  int rank;
  boolean table;
  int leader;
  Upstream.Writer[] writers = NO_WRITERS;
  /** What they had written when it was at its end. */
  Upstream.Point known = Upstream.Point.NONE;
  volatile long position;
  volatile long polled;
  long until;
  /** Offsets of records that are not read; null for none. */
  Set<Long> skipped;
  long bytes;
  boolean paused;
  /** Its end is not known as well as that of others: it was not asked for as long as enough was at hand. */
  boolean old;
  boolean ready;
  long confirmed;
  /** When its last records came, by {@link System#nanoTime}. */
  long arrived = System.nanoTime();
  /** Since when it has no record, in ms since 1970 and by {@link System#nanoTime}; 0 while it has one. */
  long since;
  long emptyAt;

  Lane(TopicPartition place) {
    this.place = place;
  }

  /** What its queries have written. */
  Upstream.Point written() {
    Upstream.Point written = Upstream.Point.ALL;
    for (Upstream.Writer each : writers) {
      written = written.and(each.done());
    }
    return written;
  }

  void clear(long from) {
    known = Upstream.Point.NONE;
    records.clear();
    head = null;
    bytes = 0;
    position = from;
    polled = from;
    since = 0;
  }

  /** Whether it has a record to give; one behind its range is for the next batch. */
  boolean has() {
    return head != null && head.offset() < until;
  }

  boolean done() {
    return head == null ? position >= until : head.offset() >= until;
  }
}
