package ksqlpy.source;

import java.util.Map;
import java.util.concurrent.TimeUnit;
import ksqlpy.internals.RecordRows;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.connector.read.streaming.PartitionOffset;
import org.apache.spark.sql.connector.read.streaming.SupportsRealTimeRead;

/** Reads the records of one task, see {@link Merge}. In real time a record that is still to come belongs to the next batch. */
final class OrderedReader implements SupportsRealTimeRead<InternalRow> {
  private final OrderedPartition partition;
  private final RecordRows rows = new RecordRows();
  private Merge merge;
  private UnsafeRow row;
  private boolean reports = false;

  OrderedReader(OrderedPartition partition) {
    this.partition = partition;
    this.merge = Merges.take(partition);
  }

  @Override
  public boolean next() {
    return read(Long.MAX_VALUE / 2);
  }

  @Override
  public RecordStatus nextWithTimeout(Long start, Long timeout) {
    if (!reports) {
      reports = true;
      merge.reports(partition.life(), partition.tasks, partition.options.timed());
    }
    return RecordStatus.newStatusWithoutArrivalTime(read(TimeUnit.MILLISECONDS.toNanos(timeout.longValue())));
  }

  private boolean read(long nanos) {
    ConsumerRecord<byte[], byte[]> found;
    try {
      found = merge.next(System.nanoTime() + nanos);
    } catch (RuntimeException e) {
      merge.close(); // whatever it is, it is not to be used again
      merge = null;
      throw e;
    }
    if (found == null) {
      return false;
    }
    row = rows.of(found);
    return true;
  }

  @Override
  public InternalRow get() {
    return row;
  }

  @Override
  public PartitionOffset getOffset() {
    return new Reached(merge.positions());
  }

  @Override
  public void close() {
    if (merge != null) {
      if (partition.options.goesOn()) {
        Merges.put(partition, merge);
      } else {
        merge.close();
      }
      merge = null;
    }
  }

  /** How far a task has read each of its partitions. */
  record Reached(Map<TopicPartition, Long> offsets) implements PartitionOffset {}
}
