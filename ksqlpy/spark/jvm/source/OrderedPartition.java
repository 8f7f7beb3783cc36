package ksqlpy.source;

import java.io.Serializable;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import ksqlpy.internals.EventTimes;
import org.apache.kafka.common.TopicPartition;
import org.apache.spark.sql.connector.read.InputPartition;

/** What one task reads: ranges of offsets of several partitions, or of one. */
final class OrderedPartition implements InputPartition {
  private static final long serialVersionUID = 1L;

  final List<Range> ranges;
  final Map<String, Object> settings;
  final List<String> tables;
  final long idle;
  final boolean failsOnLoss;
  final EventTimes times;
  final int tasks;
  /** Whether {@link #times} tells the times of records. */
  final boolean timed;

  private final String[] locations;

  OrderedPartition(
      List<Range> ranges,
      Map<String, Object> settings,
      List<String> tables,
      long idle,
      boolean failsOnLoss,
      EventTimes times,
      int tasks,
      boolean timed,
      String[] locations) {
    this.ranges = ranges;
    this.settings = new HashMap<>(settings);
    this.tables = tables;
    this.idle = idle;
    this.failsOnLoss = failsOnLoss;
    this.times = times;
    this.tasks = tasks;
    this.timed = timed;
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
}
