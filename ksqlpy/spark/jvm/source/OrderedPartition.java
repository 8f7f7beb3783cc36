package ksqlpy.source;

import java.io.Serializable;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import ksqlpy.internals.EventTimes;
import org.apache.kafka.common.TopicPartition;
import org.apache.spark.sql.connector.read.InputPartition;

/** What one task reads: ranges of offsets of several partitions. */
final class OrderedPartition implements InputPartition {
  private static final long serialVersionUID = 1L;

  final List<Range> ranges;
  final Map<String, Object> settings;
  final List<String> tables;
  final long idle;
  final boolean failsOnLoss;
  final EventTimes times;

  OrderedPartition(
      List<Range> ranges,
      Map<String, Object> settings,
      List<String> tables,
      long idle,
      boolean failsOnLoss,
      EventTimes times) {
    this.ranges = ranges;
    this.settings = new HashMap<>(settings);
    this.tables = tables;
    this.idle = idle;
    this.failsOnLoss = failsOnLoss;
    this.times = times;
  }

  /** Offsets of one partition; {@code from} is negative for its start, {@code until} the largest long in real time. */
  record Range(TopicPartition place, long from, long until) implements Serializable {}
}
