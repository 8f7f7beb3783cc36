package ksqlpy.source;

import java.io.Serializable;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import ksqlpy.internals.EventTimes;
import org.apache.kafka.common.TopicPartition;
import org.apache.spark.sql.connector.read.InputPartition;

/** What one task reads: ranges of offsets of several partitions, or of one. */
final class OrderedPartition implements InputPartition {
  private static final long serialVersionUID = 1L;

  final List<Range> ranges;
  final Map<String, Object> settings;
  final Options options;
  final int tasks;

  private final String[] locations;

  OrderedPartition(
      List<Range> ranges, Map<String, Object> settings, Options options, int tasks, String[] locations) {
    this.ranges = ranges;
    this.settings = new HashMap<>(settings);
    this.options = options;
    this.tasks = tasks;
    this.locations = locations;
  }

  /** As Spark's source wants it: the executor that had the partition before. */
  @Override
  public String[] preferredLocations() {
    return locations;
  }

  /** Of a task in its query. */
  String name() {
    return tasks == 1 ? life() : life() + ' ' + ranges.get(0).place();
  }

  /** A life of a query has a consumer group of its own. */
  String life() {
    return settings.get("group.id").toString();
  }

  /** Offsets of one partition; {@code from} is negative for its start, {@code until} the largest long in real time. */
  record Range(TopicPartition place, long from, long until) implements Serializable {}

  /**
   * What holds of all tasks of a query, see {@link OrderedKafka}. {@code idle}: ms, as Kafka Streams' max.task.idle.ms;
   * -1: no partition is waited for. {@code failsOnLoss}: whether it fails where records were deleted before they were
   * read; {@code timed}: whether {@code times} tells the times of records; {@code largest}: bytes of a record that is read
   * at most; {@code skipped}: offsets of records that are not read; {@code goesOn}: whether more batches follow.
   */
  record Options(
      List<String> tables,
      long idle,
      boolean failsOnLoss,
      EventTimes times,
      boolean timed,
      long largest,
      Map<TopicPartition, Set<Long>> skipped,
      boolean goesOn)
      implements Serializable {}
}
