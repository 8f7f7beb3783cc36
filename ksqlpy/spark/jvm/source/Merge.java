package ksqlpy.source;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import ksqlpy.metrics.Inputs;
import ksqlpy.tasks.Alignment;
import ksqlpy.tasks.Upstream;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.OffsetOutOfRangeException;
import org.apache.kafka.common.TopicPartition;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The records of several partitions in the order of their times, by the rule of Kafka Streams (KIP-353, KIP-695): of the
 * first records of all partitions the oldest comes next. A partition without one is waited for while the broker is known
 * to have more, and then for the idle time. Records of one partition keep their order.
 *
 * <p>Kafka Streams takes the lag that the last answer of the broker told. That is old for a partition that was not asked
 * meanwhile, since enough of it was at hand, and for one whose broker does not answer. So the end of such a partition is
 * asked for first.
 *
 * <p>A partition at its end that a query of this JVM writes is waited for until that query has written what came of
 * records before this time, or before the last second, see {@link Upstream}; and then until it is known to be at its end
 * still, since what that query wrote last may not have come yet.
 *
 * <p>When brokers answer again that did not answer for a time, a partition at its end is waited for, too, see {@link
 * Silence}.
 *
 * <p>Of partitions with the same time, those of tables come first. Not for several threads.
 *
 * <p>The class is longer than others, since every question above is asked of the same partitions.
 */
final class Merge implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(Merge.class);

  /** Bytes of records at hand, of all partitions together; a partition with its share of them is not asked for more. */
  private static final long ROOM = 64L << 20;

  /** Of one partition at most. */
  private static final long ROOM_OF_ONE = 16L << 20;

  private static final int MOST_RECORDS = 20_000;
  private static final long UNWRITTEN_MILLIS = 5;
  private static final long LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(5);

  /** How old the last answer of a broker may be for the end of its partitions to count as known. */
  private static final long FRESH_NANOS = TimeUnit.MILLISECONDS.toNanos(250);

  /** How often a query that others wait for finds out whether it has read all. */
  private static final long END_MILLIS = 100;

  private static final Duration END_WITHIN = Duration.ofMillis(500);
  private static final Duration CONFIRM_WITHIN = Duration.ofSeconds(2);

  /** How long brokers are asked at a time for several partitions, so that it is seen when they do not answer. */
  private static final long ASK_MILLIS = 500;

  private final Consumer<byte[], byte[]> consumer;
  private final Map<TopicPartition, Lane> lanes = new ConcurrentHashMap<>();
  private final EventTime times;
  private final Inputs inputs;
  private final String query;
  private final PollRoom room;
  private final Silence silence;
  private final Working working;
  private Lane[] all = {};
  private long roomOfEach;
  private long idle;
  private boolean failsOnLoss;
  private long largest;
  private boolean severalLeaders;
  /** The lanes that are empty, and neither at their end nor done: they are waited for. */
  private int missing;
  /** Whose record is next as long as it is not later than {@link #bound}; null if that must be found out. */
  private Lane current;
  private long bound;
  private int boundRank;
  private long looked = System.nanoTime();
  private int given;
  /** Where this task says how far it is; null while it reads no batch in real time. */
  private Upstream.Reader reader;
  /** Tasks that read the other partitions; null if this task reads all. */
  private Beside beside;
  private boolean byRecords;
  private long endAsked;
  /** Whether queries of this JVM write some of the topics; as of this version of {@link Upstream}. */
  private boolean hasWriters;
  private int writersOf = -1;
  /** The partition without a record whose query is behind, if one is waited for. */
  private Lane unwritten;
  /** The partition without a record whose producers were not heard since the brokers answer again, likewise. */
  private Lane unheard;

  /** {@code query}: its id, under which it is told which partition is waited for. {@code room}: of the consumer's polls. */
  Merge(Consumer<byte[], byte[]> consumer, PollRoom room, EventTime times, String query) {
    this.consumer = consumer;
    this.room = room;
    this.silence = new Silence(consumer);
    this.times = times;
    this.query = query;
    this.inputs = new Inputs(query, this::ahead);
    this.working = new Working(query);
  }

  /** Begins to read these ranges. What is at hand of a partition from its first offset on is kept. */
  void assign(Collection<OrderedPartition.Range> ranges, OrderedPartition.Options options) {
    this.idle = options.idle();
    this.failsOnLoss = options.failsOnLoss();
    this.largest = options.largest();
    Map<TopicPartition, OrderedPartition.Range> wanted = new HashMap<>();
    ranges.forEach(range -> wanted.put(range.place(), range));
    if (!wanted.keySet().equals(lanes.keySet())) {
      forgetWriters();
      lanes.clear();
      consumer.assign(wanted.keySet());
    }
    roomOfEach = Math.max(1 << 20, Math.min(ROOM_OF_ONE, ROOM / Math.max(1, wanted.size())));
    List<TopicPartition> fromStart = new ArrayList<>();
    for (OrderedPartition.Range range : ranges) {
      Lane lane = lanes.get(range.place());
      boolean known = lane != null;
      if (!known) {
        lane = new Lane(range.place());
        lanes.put(range.place(), lane);
      }
      lane.table = options.tables().contains(range.place().topic());
      lane.until = range.until();
      lane.skipped = options.skipped().get(range.place());
      if (range.from() < 0) {
        lane.clear(range.from());
        fromStart.add(range.place());
      } else if (!known || lane.position != range.from()) {
        lane.clear(range.from());
        consumer.seek(range.place(), range.from());
      }
    }
    if (!fromStart.isEmpty()) {
      consumer.seekToBeginning(fromStart);
      fromStart.forEach(place -> lanes.get(place).position = consumer.position(place));
    }
    all = lanes.values().toArray(new Lane[0]);
    java.util.Arrays.sort(
        all,
        Comparator.comparing((Lane lane) -> !lane.table)
            .thenComparing(lane -> lane.place.topic())
            .thenComparing(lane -> lane.place.partition()));
    for (int i = 0; i < all.length; i++) {
      all[i].rank = i;
    }
    current = null;
    severalLeaders = haveSeveralLeaders();
    for (Lane lane : all) {
      stand(lane);
    }
    count();
  }

  /**
   * Says from now on how far this task is: one of so many of a query's {@code life}. {@code byRecords}: by the times of
   * records, else only where all are read.
   */
  void reports(String life, int tasks, boolean byRecords) {
    if (reader == null) {
      reader = Upstream.reader(query, life, tasks);
      if (tasks > 1 && idle >= 0) {
        beside = new Beside(Alignment.join(life, tasks, all[0].place), consumer);
      }
    }
    this.byRecords = byRecords;
    reader.use(true);
  }

  /** Its batch is over. */
  void rests() {
    working.rests();
    if (reader != null) {
      reader.use(false);
    }
  }

  private void findWriters() {
    int version = Upstream.version();
    if (version == writersOf) {
      return;
    }
    forgetWriters();
    writersOf = version;
    for (Lane lane : all) {
      lane.writers = Upstream.writers(lane.place.topic(), query);
      for (Upstream.Writer each : lane.writers) {
        each.watch(true);
        hasWriters = true;
      }
    }
  }

  private void forgetWriters() {
    for (Lane lane : all) {
      for (Upstream.Writer each : lane.writers) {
        each.watch(false);
      }
      lane.writers = Lane.NO_WRITERS;
      lane.known = Upstream.Point.NONE;
    }
    hasWriters = false;
    writersOf = -1;
  }

  private boolean haveSeveralLeaders() {
    if (all.length < 2) {
      return false;
    }
    for (Lane lane : all) {
      lane.leader =
          consumer.partitionsFor(lane.place.topic()).stream()
              .filter(found -> found.partition() == lane.place.partition() && found.leader() != null)
              .mapToInt(found -> found.leader().id())
              .findFirst()
              .orElse(-1);
    }
    for (Lane lane : all) {
      if (lane.leader != all[0].leader) {
        return true;
      }
    }
    return false;
  }

  /** The next record; null if there is none until {@code deadline} (by {@link System#nanoTime}), or all ranges are read. */
  ConsumerRecord<byte[], byte[]> next(long deadline) {
    if (all.length > 1 && (++given & 63) == 0 && System.nanoTime() - looked > LOOK_NANOS) {
      poll(0); // what others have got since, and what they have next
    }
    while (true) {
      Lane lane = missing == 0 ? first() : null;
      unwritten = null;
      if (lane != null && isWritten(lane.time) && isAligned(lane.time) && areHeard()) {
        return take(lane);
      }
      working.waits();
      long left = deadline - System.nanoTime();
      if (left <= 0 || isDone()) {
        return null;
      }
      if (lane == null && missing == 0) {
        if (beside != null) {
          beside.ends(all[0].position);
        }
        if (reader != null && reader.isWatched()) {
          findEnd();
        }
      } else if (beside != null && beside.waits() && System.nanoTime() - looked < LOOK_NANOS) {
        beside.pause();
        continue;
      }
      if (unwritten == null) {
        poll(waitsAtMost(left));
        continue;
      }
      Upstream.waits(true);
      try {
        poll(waitsAtMost(left));
      } finally {
        Upstream.waits(false);
      }
    }
  }

  private boolean isAligned(long time) {
    return beside == null || beside.mayGive(time);
  }

  /** Whether no partition without a record may get older ones, as its producers could not reach the brokers. */
  private boolean areHeard() {
    unheard = null;
    if (idle < 0 || !silence.isOpen()) {
      return true;
    }
    for (Lane lane : all) {
      if (lane.head == null && !lane.done() && silence.isBehind(lane.arrived)) {
        unheard = lane;
      }
    }
    if (unheard == null) {
      silence.isOver();
    } else if (!silence.holds()) {
      unheard = null;
    }
    return unheard == null;
  }

  /** Whether queries have written all before this time, into the partitions that have no record at hand. */
  private boolean isWritten(long time) {
    if (!hasWriters) {
      return true;
    }
    long now = System.currentTimeMillis();
    for (Lane lane : all) {
      if (lane.writers.length > 0 && lane.head == null && !lane.done() && !lane.known.holds(time, now)) {
        unwritten = lane;
        Upstream.Point written = lane.written();
        if (!written.holds(time, now)) {
          return false;
        }
        confirm(lane);
        if (lane.old) {
          stand(lane);
          count();
          return false;
        }
        lane.known = written;
      }
    }
    unwritten = null;
    return true;
  }

  /** All that was known is read: up to now, if the brokers have no more. */
  private void findEnd() {
    long now = System.nanoTime();
    if (now - endAsked < TimeUnit.MILLISECONDS.toNanos(END_MILLIS) || silence.isUnsure()) {
      return;
    }
    endAsked = now;
    Upstream.Point read = new Upstream.Point(Long.MAX_VALUE, System.currentTimeMillis());
    for (Lane lane : all) {
      read = read.and(lane.written());
    }
    Map<TopicPartition, Long> ends;
    try {
      ends = consumer.endOffsets(lanes.keySet(), END_WITHIN);
    } catch (org.apache.kafka.common.errors.TimeoutException e) {
      silence.asked(now, END_WITHIN.toNanos());
      return; // what is there is not known
    }
    for (Lane lane : all) {
      if (ends.get(lane.place).longValue() > consumer.position(lane.place)) {
        return;
      }
    }
    reader.hasRead(read);
  }

  /** Where each partition is: the offset of the record that comes next. */
  Map<TopicPartition, Long> positions() {
    Map<TopicPartition, Long> found = new HashMap<>();
    lanes.forEach((place, lane) -> found.put(place, Long.valueOf(lane.position)));
    return found;
  }

  private Map<String, Long> ahead() {
    Map<String, Long> found = new HashMap<>();
    lanes.forEach((place, lane) -> found.put(place.toString(), Long.valueOf(Math.max(0, lane.polled - lane.position))));
    return found;
  }

  private boolean isDone() {
    for (Lane lane : all) {
      if (!lane.done()) {
        return false;
      }
    }
    return true;
  }

  /** The lane with the oldest record, null if none has any. */
  private Lane first() {
    Lane lane = current;
    if (lane != null && lane.has()
        && (lane.time < bound || lane.time == bound && lane.rank < boundRank)) {
      return lane;
    }
    Lane best = null;
    Lane second = null;
    for (Lane each : all) {
      if (each.has()) {
        if (best == null || each.time < best.time) {
          second = best;
          best = each;
        } else if (second == null || each.time < second.time) {
          second = each;
        }
      }
    }
    current = best;
    bound = second == null ? Long.MAX_VALUE : second.time;
    boundRank = second == null ? Integer.MAX_VALUE : second.rank;
    return best;
  }

  private ConsumerRecord<byte[], byte[]> take(Lane lane) {
    ConsumerRecord<byte[], byte[]> record = lane.head;
    if (byRecords) {
      reader.reads(lane.time);
    }
    working.on(lane.place, record.offset());
    lane.bytes -= size(record);
    lane.position = record.offset() + 1;
    lane.head = lane.records.poll();
    if (lane.head != null) {
      lane.time = times.of(lane.head);
    }
    if (!lane.has()) {
      current = null;
      stand(lane);
      if (!lane.ready) {
        missing++;
      }
    }
    if (lane.paused && lane.records.size() < MOST_RECORDS / 2 && lane.bytes < roomOfEach / 2) {
      lane.paused = false;
      lane.old = true;
      consumer.resume(List.of(lane.place));
    }
    return record;
  }

  /** Whether the others may go on without a lane that has no record at hand. */
  private void stand(Lane lane) {
    if (lane.has() || lane.done()) {
      lane.ready = true;
      lane.since = 0;
      return;
    }
    OptionalLong lag = consumer.currentLag(lane.place);
    long position = lag.isPresent() ? consumer.position(lane.place) : lane.position;
    lane.position = Math.max(lane.position, position); // behind marks of transactions
    if (lane.done()) {
      lane.ready = true;
      return;
    }
    if (lane.since == 0) {
      lane.since = System.currentTimeMillis();
      lane.emptyAt = System.nanoTime();
    }
    lane.ready = idle < 0 || lag.isPresent() && lag.getAsLong() <= 0 && !lane.old && waitedEnough(lane);
  }

  private boolean waitedEnough(Lane lane) {
    return idle == 0 || System.nanoTime() - lane.emptyAt >= TimeUnit.MILLISECONDS.toNanos(idle);
  }

  private void count() {
    missing = 0;
    for (Lane lane : all) {
      if (!lane.ready) {
        missing++;
      }
    }
  }

  /** Asks the brokers for at most so many ms. */
  private void poll(long millis) {
    if (waits()) {
      tellWaits();
    }
    ConsumerRecords<byte[], byte[]> polled;
    long begin = System.nanoTime();
    try {
      room.begin();
      polled = consumer.poll(Duration.ofMillis(millis));
    } catch (OffsetOutOfRangeException e) {
      skipLost(e);
      return;
    }
    looked = System.nanoTime();
    silence.asked(begin, TimeUnit.MILLISECONDS.toNanos(millis));
    for (TopicPartition place : polled.partitions()) {
      add(lanes.get(place), polled.records(place));
    }
    for (Lane lane : all) {
      if (lane.head == null) {
        if (lane.old || severalLeaders && !polled.isEmpty() && looked - lane.confirmed > FRESH_NANOS) {
          confirm(lane);
        }
        stand(lane);
      }
    }
    count();
    if (!waits()) {
      inputs.goesOn();
    }
    if (idle >= 0) {
      findWriters();
    }
    current = null;
  }

  private void add(Lane lane, List<ConsumerRecord<byte[], byte[]>> records) {
    for (ConsumerRecord<byte[], byte[]> given : records) {
      if (given.offset() < lane.position) {
        continue;
      }
      ConsumerRecord<byte[], byte[]> record = Refused.orRead(given, largest, lane.skipped);
      lane.bytes += size(record);
      if (lane.head == null) {
        lane.head = record;
        lane.time = times.of(record);
      } else {
        lane.records.add(record);
      }
    }
    lane.polled = records.get(records.size() - 1).offset() + 1;
    lane.old = false;
    lane.confirmed = looked;
    lane.arrived = looked;
    lane.ready = true;
    lane.since = 0;
    if (lane.until != Long.MAX_VALUE && consumer.position(lane.place) >= lane.until
        || lane.records.size() >= MOST_RECORDS || lane.bytes >= roomOfEach) {
      lane.paused = true;
      consumer.pause(List.of(lane.place));
    }
  }

  /** Asks for the end of a partition of which the consumer knows nothing new. */
  private void confirm(Lane lane) {
    long begin = System.nanoTime();
    try {
      Map<TopicPartition, Long> end = consumer.endOffsets(List.of(lane.place), CONFIRM_WITHIN);
      lane.confirmed = System.nanoTime();
      lane.old = end.get(lane.place).longValue() > consumer.position(lane.place);
    } catch (org.apache.kafka.common.errors.TimeoutException e) {
      silence.asked(begin, CONFIRM_WITHIN.toNanos());
      lane.old = true; // its broker does not answer: what it has is not known
    }
  }

  /** Goes on behind records that were deleted before they were read, if it may; not where the topic became shorter. */
  private void skipLost(OffsetOutOfRangeException lost) {
    Map<TopicPartition, Long> begins = consumer.beginningOffsets(lost.offsetOutOfRangePartitions().keySet());
    lost.offsetOutOfRangePartitions()
        .forEach(
            (place, offset) -> {
              long begin = begins.get(place).longValue();
              if (failsOnLoss || begin < offset.longValue()) {
                throw lost;
              }
              LOG.warn("records of {} from offset {} to {} were deleted before they were read", place, offset, begin);
              lanes.get(place).position = begin;
              consumer.seek(place, begin);
            });
  }

  private long waitsAtMost(long nanos) {
    long most = TimeUnit.NANOSECONDS.toMillis(nanos) + 1;
    if (missing > 0 && idle > 0) {
      most = Math.min(most, Math.max(1, idle / 4));
    }
    if (all.length > 1) {
      most = Math.min(most, ASK_MILLIS);
    }
    if (unwritten != null || unheard != null) {
      return Math.min(most, UNWRITTEN_MILLIS);
    }
    if (beside != null && beside.waits()) {
      return 0;
    }
    if (reader != null && reader.isWatched()) {
      return Math.min(most, END_MILLIS);
    }
    return missing > 0 ? Math.min(most, 1000) : most;
  }

  private boolean waits() {
    return missing > 0 || unwritten != null || unheard != null || beside != null && beside.waits();
  }

  private void tellWaits() {
    if (beside != null && beside.waits()) {
      inputs.waitsFor(beside.place(), beside.since());
      return;
    }
    if (unwritten != null) {
      inputs.waitsFor(unwritten.place.toString(), unwritten.since);
      return;
    }
    if (unheard != null) {
      inputs.waitsFor(unheard.place.toString(), unheard.since);
      return;
    }
    for (Lane lane : all) {
      if (!lane.ready) {
        inputs.waitsFor(lane.place.toString(), lane.since);
        return;
      }
    }
  }

  private static int size(ConsumerRecord<byte[], byte[]> record) {
    return 100 + Math.max(0, record.serializedKeySize()) + Math.max(0, record.serializedValueSize());
  }

  @Override
  public void close() {
    forgetWriters();
    if (beside != null) {
      beside.close();
    }
    if (reader != null) {
      reader.close();
    }
    inputs.close();
    working.close();
    consumer.close(Duration.ZERO);
  }
}
