package ksqlpy.internals;

import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.streaming.PartitionOffset;
import org.apache.spark.sql.kafka010.KafkaBatchInputPartition;
import org.apache.spark.sql.kafka010.KafkaRecordToRowConverter;
import org.apache.spark.sql.kafka010.KafkaSourcePartitionOffset;
import org.apache.spark.sql.kafka010.KafkaSourceProvider;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.Function1;

/** The parts of Spark's Kafka source that our own source is made of: its table, ranges of offsets, rows of records. */
public final class KafkaParts {
  private KafkaParts() {}

  /** Spark's own table of records, by the options of a source. */
  public static Table table(CaseInsensitiveStringMap options) {
    return new KafkaSourceProvider().getTable(options);
  }

  public static TopicPartition place(InputPartition partition) {
    return ((KafkaBatchInputPartition) partition).offsetRange().topicPartition();
  }

  /** The first offset to be read; a negative one stands for the start of the partition. */
  public static long from(InputPartition partition) {
    return ((KafkaBatchInputPartition) partition).offsetRange().fromOffset();
  }

  /** The offset before which reading ends; only of a micro-batch. */
  public static long until(InputPartition partition) {
    return ((KafkaBatchInputPartition) partition).offsetRange().untilOffset();
  }

  /** The settings of a consumer in a task. */
  public static Map<String, Object> settings(InputPartition partition) {
    return ((KafkaBatchInputPartition) partition).executorKafkaParams();
  }

  /** What tells a batch in real time how far a partition was read. */
  public static PartitionOffset reached(TopicPartition place, long offset) {
    return new KafkaSourcePartitionOffset(place, offset);
  }

  /** Makes rows of records, with headers; a row is valid until the next one. */
  public static Function1<ConsumerRecord<byte[], byte[]>, UnsafeRow> rows() {
    return new KafkaRecordToRowConverter().toUnsafeRowProjector(true);
  }
}
