package ksqlpy.source;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import ksqlpy.tasks.Alignment;
import ksqlpy.tasks.Upstream;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.MockConsumer;
import org.apache.kafka.clients.consumer.OffsetOutOfRangeException;
import org.apache.kafka.clients.consumer.OffsetResetStrategy;
import org.apache.kafka.common.Metric;
import org.apache.kafka.common.MetricName;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.record.TimestampType;
import org.junit.jupiter.api.Test;

/** Records of several partitions by their times, as Kafka's MockConsumer gives them. */
final class MergeTest {
  private static final TopicPartition A = new TopicPartition("a", 0);
  private static final TopicPartition B = new TopicPartition("b", 0);

  private final Broker broker = new Broker();
  private final Merge merge = new Merge(broker, new PollRoom(), ConsumerRecord::timestamp, "CSAS_Q_1");

  /** A consumer whose lag is known only of partitions that were told. */
  private static final class Broker extends MockConsumer<byte[], byte[]> {
    private final Set<TopicPartition> unknown = new HashSet<>();
    private final Map<TopicPartition, Long> ends = new HashMap<>();
    private boolean silent = false;
    private double answers = 0;
    private Map<TopicPartition, Long> told = Map.of(); // lags that the last answer told, where they have changed since

    Broker() {
      super(OffsetResetStrategy.NONE);
    }

    @Override
    public synchronized OptionalLong currentLag(TopicPartition place) {
      return unknown.contains(place)
          ? OptionalLong.empty()
          : told.containsKey(place) ? OptionalLong.of(told.get(place)) : super.currentLag(place);
    }

    @Override
    public synchronized Map<TopicPartition, Long> endOffsets(Collection<TopicPartition> places, Duration timeout) {
      if (silent) {
        throw new TimeoutException("no answer");
      }
      return super.endOffsets(places, timeout);
    }

    @Override
    public Map<MetricName, ? extends Metric> metrics() {
      MetricName name = new MetricName("response-total", "consumer-metrics", "", Map.of());
      return Map.of(
          name,
          new Metric() {
            @Override
            public MetricName metricName() {
              return name;
            }

            @Override
            public Object metricValue() {
              return Double.valueOf(answers);
            }
          });
    }

    @Override
    public synchronized ConsumerRecords<byte[], byte[]> poll(Duration timeout) {
      if (!silent) {
        answers++;
        return super.poll(timeout);
      }
      try {
        Thread.sleep(timeout.toMillis());
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
      return ConsumerRecords.empty();
    }

    /** It does not answer for so many ms, and then it does. */
    void isSilent(Merge merge, long millis) {
      silent = true;
      assertNull(merge.next(System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis)));
      silent = false;
    }

    /** Records of these times are there, and given at the next poll. */
    void gives(TopicPartition place, long... times) {
      has(place, times.length);
      long first = ends.get(place) - times.length;
      schedulePollTask(
          () -> {
            for (int i = 0; i < times.length; i++) {
              addRecord(record(place, first + i, times[i]));
            }
          });
    }

    /** So many records more are there. */
    void has(TopicPartition place, int more) {
      ends.merge(place, (long) more, Long::sum);
      updateEndOffsets(Map.of(place, ends.get(place)));
    }
  }

  private static ConsumerRecord<byte[], byte[]> record(TopicPartition place, long offset, long time) {
    return new ConsumerRecord<>(
        place.topic(), place.partition(), offset, time, TimestampType.CREATE_TIME, 1, 1, new byte[1], new byte[1],
        new RecordHeaders(), Optional.empty());
  }

  private static OrderedPartition.Options options(List<String> tables, long idle, boolean failsOnLoss) {
    return new OrderedPartition.Options(tables, idle, failsOnLoss, null, true, 1_000, Map.of(), true);
  }

  private void begin(long idle, TopicPartition... places) {
    begin(List.of("b"), idle, Long.MAX_VALUE, places);
  }

  private void begin(List<String> tables, long idle, long until, TopicPartition... places) {
    List<OrderedPartition.Range> ranges = new ArrayList<>();
    for (TopicPartition place : places) {
      broker.updateBeginningOffsets(Map.of(place, 0L));
      broker.has(place, 0);
      ranges.add(new OrderedPartition.Range(place, 0, until));
    }
    merge.assign(ranges, options(tables, idle, false));
  }

  /** What comes within the ms, as {@code topic@time}. */
  private String next(long millis) {
    ConsumerRecord<byte[], byte[]> found = merge.next(System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis));
    return found == null ? null : found.topic() + "@" + found.timestamp();
  }

  /** These come, as {@code topic@time}, and then none. */
  private void expect(String... records) {
    for (String record : records) {
      assertEquals(record, next(10_000));
    }
    assertNull(next(30));
  }

  @Test
  void theOldestOfAllFirstRecordsComesNext() {
    begin(0, A, B);
    broker.gives(A, 10, 30, 40);
    broker.gives(B, 20, 35);
    // The mock gives one scheduled task a poll: the record of B is known to be there.
    expect("a@10", "b@20", "a@30", "b@35", "a@40");
  }

  @Test
  void recordsOfOnePartitionKeepTheirOrder() {
    begin(0, A, B);
    broker.gives(A, 50, 5, 60);
    broker.gives(B, 20, 55);
    expect("b@20", "a@50", "a@5", "b@55", "a@60");
  }

  @Test
  void ofTheSameTimeTablesComeFirst() {
    begin(0, A, B);
    broker.gives(A, 10, 10);
    broker.gives(B, 10);
    expect("b@10", "a@10", "a@10");
  }

  @Test
  void aPartitionOfWhichMoreIsThereIsWaitedFor() {
    begin(0, A, B);
    broker.has(B, 1);
    broker.gives(A, 10);
    assertNull(next(30));
    broker.schedulePollTask(() -> broker.addRecord(record(B, 0, 5)));
    expect("b@5", "a@10");
  }

  @Test
  void aPartitionOfWhichNothingIsKnownIsWaitedFor() {
    broker.unknown.add(B);
    begin(0, A, B);
    broker.gives(A, 10);
    assertNull(next(30));
    broker.unknown.clear();
    assertEquals("a@10", next(10_000));
  }

  @Test
  void aPartitionAtItsEndIsNotWaitedFor() {
    begin(0, A, B);
    broker.gives(A, 10, 20);
    expect("a@10", "a@20");
  }

  @Test
  void aPartitionAtItsEndIsWaitedForAsLongAsIsSaid() {
    begin(1_000, A, B);
    broker.gives(A, 10);
    long begun = System.nanoTime();
    assertNull(next(20));
    assertEquals("a@10", next(10_000));
    assertTrue(System.nanoTime() - begun >= TimeUnit.MILLISECONDS.toNanos(990));
  }

  @Test
  void aPartitionIsWaitedForBehindASilenceOfItsBroker() {
    begin(0, A, B);
    assertNull(next(30));
    broker.isSilent(merge, 1_500);
    broker.gives(A, 10, 30);
    assertNull(next(200)); // its producers may be a moment behind those of the other
    broker.gives(B, 20, 40);
    expect("a@10", "b@20", "a@30", "b@40");
    broker.gives(A, 50);
    assertEquals("a@50", next(200));
  }

  @Test
  void aPartitionWithoutRecordsIsWaitedForAsLongAsTheSilenceWas() {
    begin(0, A, B);
    assertNull(next(30));
    broker.isSilent(merge, 1_200);
    assertNull(next(1_500)); // nothing is there: the wait has not begun
    broker.gives(A, 10, 20);
    long begun = System.nanoTime();
    assertEquals("a@10", next(10_000));
    long waited = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begun);
    assertTrue(waited >= 700 && waited < 3_000, () -> waited + " ms");
    assertEquals("a@20", next(200));
  }

  @Test
  void aTimeInWhichNobodyAskedCountsAsSilence() throws InterruptedException {
    begin(0, A, B);
    assertNull(next(30));
    Thread.sleep(1_000); // a batch ends, and the next one begins
    broker.gives(A, 10, 30);
    assertNull(next(200));
    broker.gives(B, 20);
    expect("a@10", "b@20", "a@30");
  }

  @Test
  void aShortSilenceIsNone() {
    begin(0, A, B);
    assertNull(next(30));
    broker.isSilent(merge, 300);
    broker.gives(A, 10);
    assertEquals("a@10", next(200));
  }

  @Test
  void aQueryDoesNotTellThatItHasReadAllWhenItsBrokerWasSilent() {
    Upstream.writes("CSAS_Q_1", "a", "q");
    Upstream.Writer query = Upstream.writers("q", "OTHER")[0];
    query.watch(true);
    try {
      begin(0, A, B);
      merge.reports("its life", 1, true);
      assertNull(next(300));
      broker.isSilent(merge, 1_500);
      long ended = System.currentTimeMillis();
      assertNull(next(500));
      assertTrue(query.done().moment() < ended);
      while (query.done().moment() < ended && System.currentTimeMillis() < ended + 20_000) {
        assertNull(next(50));
      }
      assertTrue(query.done().moment() >= ended);
    } finally {
      query.watch(false);
      Upstream.ends("CSAS_Q_1");
    }
  }

  @Test
  void noneIsWaitedForWhereThatIsSaid() {
    broker.unknown.add(B);
    begin(-1, A, B);
    broker.has(B, 3);
    broker.gives(A, 10);
    assertEquals("a@10", next(10_000));
  }

  @Test
  void aPartitionAtItsEndIsWaitedForWhileTheQueryThatWritesItIsBehind() {
    Upstream.writes("CSAS_B_2", "c", "b");
    Upstream.Reader writer = Upstream.reader("CSAS_B_2", "its life", 1);
    try {
      begin(0, A, B);
      broker.gives(A, 10, 20);
      assertNull(next(200));
      writer.reads(15);
      assertEquals("a@10", next(10_000));
      assertNull(next(200));
      broker.gives(B, 12);
      assertEquals("b@12", next(10_000));
      Upstream.ends("CSAS_B_2");
      assertEquals("a@20", next(10_000));
    } finally {
      Upstream.ends("CSAS_B_2");
    }
  }

  @Test
  void aQueryThatHasReadAllIsNotWaitedFor() {
    Upstream.writes("CSAS_B_2", "c", "b");
    Upstream.Reader writer = Upstream.reader("CSAS_B_2", "its life", 1);
    try {
      begin(0, A, B);
      assertNull(next(10));
      writer.hasRead(new Upstream.Point(Long.MAX_VALUE, System.currentTimeMillis() + 60_000));
      assertNull(next(300));
      long now = System.currentTimeMillis();
      broker.gives(A, 10, now);
      assertEquals("a@10", next(10_000));
      assertEquals("a@" + now, next(10_000));
    } finally {
      Upstream.ends("CSAS_B_2");
    }
  }

  @Test
  void whatAQueryWroteLastComesBeforeLaterRecords() {
    Upstream.writes("CSAS_B_2", "c", "b");
    Upstream.Reader writer = Upstream.reader("CSAS_B_2", "its life", 1);
    try {
      begin(0, A, B);
      broker.gives(A, 10, 20);
      assertNull(next(200));
      broker.updateEndOffsets(Map.of(B, 1L)); // it is written, but has not come, and the lag is that of before
      broker.told = Map.of(B, 0L);
      writer.reads(15);
      assertNull(next(200));
      broker.told = Map.of();
      broker.schedulePollTask(() -> broker.addRecord(record(B, 0, 5)));
      assertEquals("b@5", next(10_000));
      assertEquals("a@10", next(10_000));
    } finally {
      Upstream.ends("CSAS_B_2");
    }
  }

  @Test
  void aQueryThatOthersWaitForTellsWhenItHasReadAll() {
    Upstream.writes("CSAS_Q_1", "a", "q");
    Upstream.Writer query = Upstream.writers("q", "OTHER")[0];
    query.watch(true);
    try {
      begin(0, A, B);
      merge.reports("its life", 1, true);
      broker.gives(A, 10, 20);
      assertEquals("a@10", next(10_000));
      long begun = System.currentTimeMillis();
      assertEquals("a@20", next(10_000));
      while (query.done().moment() < begun && System.currentTimeMillis() < begun + 20_000) {
        assertNull(next(50));
      }
      assertTrue(query.done().moment() >= begun);
    } finally {
      query.watch(false);
      Upstream.ends("CSAS_Q_1");
    }
  }

  @Test
  void aTaskWaitsForThoseBesideItThatAreBehind() {
    begin(0, A);
    merge.reports("its life", 2, true);
    Alignment.Member other = Alignment.join("its life", 2, B);
    try {
      broker.gives(A, 1_000, 2_000);
      assertNull(next(30)); // the other has not begun
      other.has(900);
      assertEquals("a@1000", next(10_000));
      assertNull(next(30));
      other.has(1_900);
      assertEquals("a@2000", next(10_000));
      assertNull(next(30));
      assertEquals(List.of(A), other.atEnd().stream().map(Alignment.Member::place).toList());
    } finally {
      other.leave();
      merge.close();
    }
  }

  @Test
  void anOldRecordWaitsForProofThatThoseBesideAreAtTheirEnd() {
    begin(0, A);
    merge.reports("its life", 2, true);
    Alignment.Member other = Alignment.join("its life", 2, B);
    try {
      other.ends(0);
      broker.updateEndOffsets(Map.of(B, 1L)); // which it does not know yet
      broker.gives(A, 10, 2_000);
      assertNull(next(200));
      other.has(5);
      assertEquals("a@10", next(10_000));
      assertNull(next(30));
      other.ends(1);
      assertEquals("a@2000", next(10_000));
    } finally {
      other.leave();
      merge.close();
    }
  }

  @Test
  void aLiveRecordWaitsForNoProof() {
    begin(0, A);
    merge.reports("its life", 2, true);
    Alignment.Member other = Alignment.join("its life", 2, B);
    try {
      other.ends(0);
      broker.updateEndOffsets(Map.of(B, 1L));
      long now = System.currentTimeMillis() + 60_000;
      broker.gives(A, now);
      assertEquals("a@" + now, next(10_000));
    } finally {
      other.leave();
      merge.close();
    }
  }

  @Test
  void whatIsAtHandIsKeptForTheNextBatch() {
    begin(0, A, B);
    broker.gives(A, 10, 20, 30);
    assertEquals("a@10", next(10_000));
    assertEquals(Map.of(A, 1L, B, 0L), merge.positions());
    merge.assign(
        List.of(
            new OrderedPartition.Range(A, 1, Long.MAX_VALUE), new OrderedPartition.Range(B, 0, Long.MAX_VALUE)),
        options(List.of(), 0, false));
    expect("a@20", "a@30");
  }

  @Test
  void anotherPlaceIsReadAnew() {
    begin(0, A);
    broker.gives(A, 10, 20, 30);
    assertEquals("a@10", next(10_000));
    merge.assign(List.of(new OrderedPartition.Range(A, 0, Long.MAX_VALUE)), options(List.of(), 0, false));
    broker.schedulePollTask(() -> broker.addRecord(record(A, 0, 10)));
    assertEquals("a@10", next(10_000));
  }

  @Test
  void aRangeEndsBeforeItsEnd() {
    begin(List.of(), 0, 2, A);
    broker.gives(A, 10, 20, 30);
    assertEquals("a@10", next(10_000));
    assertEquals("a@20", next(10_000));
    assertNull(merge.next(Long.MAX_VALUE)); // at once
  }

  @Test
  void whatLiesBehindARangeIsForTheNextBatch() {
    begin(List.of(), 0, 2, A);
    broker.gives(A, 10, 20, 30, 40);
    assertEquals("a@10", next(10_000));
    assertEquals("a@20", next(10_000));
    assertNull(merge.next(Long.MAX_VALUE));
    merge.assign(List.of(new OrderedPartition.Range(A, 2, 3)), options(List.of(), 0, false));
    assertEquals("a@30", next(10_000));
    assertNull(merge.next(Long.MAX_VALUE));
    merge.assign(List.of(new OrderedPartition.Range(A, 3, Long.MAX_VALUE)), options(List.of(), 0, false));
    assertEquals("a@40", next(10_000));
  }

  @Test
  void recordsThatWereDeletedAreSkipped() {
    begin(0, A);
    broker.updateBeginningOffsets(Map.of(A, 5L));
    broker.has(A, 6);
    broker.schedulePollTask(() -> broker.setPollException(new OffsetOutOfRangeException(Map.of(A, 0L))));
    broker.schedulePollTask(() -> {});
    broker.schedulePollTask(() -> broker.addRecord(record(A, 5, 70)));
    assertEquals("a@70", next(10_000));
    assertEquals(Map.of(A, 6L), merge.positions());
  }

  @Test
  void aTopicThatBecameShorterIsAnError() {
    begin(0, A);
    broker.schedulePollTask(() -> broker.setPollException(new OffsetOutOfRangeException(Map.of(A, 9L))));
    broker.schedulePollTask(() -> {});
    assertThrows(OffsetOutOfRangeException.class, () -> next(10_000));
  }

  @Test
  void theEndIsAskedForOfAPartitionThatWasNotAskedMeanwhile() {
    begin(0, A, B);
    long[] many = new long[25_000]; // more than are kept at hand
    java.util.Arrays.fill(many, 10);
    broker.gives(A, many);
    broker.gives(B, 20, 30);
    for (int i = 0; i < many.length; i++) {
      assertEquals("a@10", next(10_000));
    }
    broker.silent = true; // and now A's broker does not answer: B must not go ahead of what may be there
    assertNull(next(30));
    broker.silent = false;
    expect("b@20", "b@30");
  }
}
