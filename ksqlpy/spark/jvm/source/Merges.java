package ksqlpy.source;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import ksqlpy.internals.Unpacked;
import ksqlpy.metrics.ClientFigures;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Consumers that wait for the next batch of their query, with what they have read ahead: a query takes at each
 * checkpoint the one that it has just put back. One that nobody took for a while is closed.
 */
final class Merges {
  private static final long KEPT_NANOS = TimeUnit.MINUTES.toNanos(2);
  private static final Map<String, Kept> KEPT = new HashMap<>();

  private static ScheduledExecutorService sweeper;

  private Merges() {}

  private record Kept(Merge merge, long since) {}

  static Merge take(OrderedPartition partition) {
    Kept kept;
    synchronized (KEPT) {
      kept = KEPT.remove(partition.name());
    }
    Merge merge = kept != null ? kept.merge() : made(partition);
    try {
      merge.assign(partition.ranges, partition.options);
    } catch (RuntimeException e) {
      merge.close();
      throw e;
    }
    return merge;
  }

  static void put(OrderedPartition partition, Merge merge) {
    merge.rests();
    Kept before;
    synchronized (KEPT) {
      before = KEPT.put(partition.name(), new Kept(merge, System.nanoTime()));
      if (sweeper == null) {
        sweeper =
            Executors.newSingleThreadScheduledExecutor(
                work -> {
                  Thread thread = new Thread(work, "idle consumers");
                  thread.setDaemon(true);
                  return thread;
                });
        sweeper.scheduleWithFixedDelay(Merges::sweep, 30, 30, TimeUnit.SECONDS);
      }
    }
    if (before != null) {
      before.merge().close();
    }
  }

  private static void sweep() {
    Map<String, Kept> old = new HashMap<>();
    synchronized (KEPT) {
      KEPT.forEach(
          (name, kept) -> {
            if (System.nanoTime() - kept.since() > KEPT_NANOS) {
              old.put(name, kept);
            }
          });
      KEPT.keySet().removeAll(old.keySet());
    }
    old.values().forEach(kept -> kept.merge().close());
  }

  private static Merge made(OrderedPartition partition) {
    Map<String, Object> settings = new HashMap<>(partition.settings);
    settings.put("enable.auto.commit", "false");
    settings.put("auto.offset.reset", "none");
    // All that has come is taken at once: a partition of which some is left is not asked for with the others, and while
    // the broker waits for these it is not asked for at all.
    settings.put("max.poll.records", "100000");
    if (partition.ranges.size() > 1) {
      settings.putIfAbsent("fetch.max.wait.ms", "100");
    }
    settings.keySet().removeAll(List.of("key.deserializer", "value.deserializer")); // of Spark's source
    Unpacked.limit(partition.options.largest());
    PollRoom room = new PollRoom();
    return new Merge(
        new KafkaConsumer<>(settings, new ByteArrayDeserializer(), room),
        room,
        EventTime.by(partition.options.times()),
        String.valueOf(settings.get(ClientFigures.QUERY)));
  }
}
