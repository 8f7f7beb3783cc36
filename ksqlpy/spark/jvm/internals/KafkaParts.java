package ksqlpy.internals;

import java.util.Map;
import java.util.function.Supplier;
import org.apache.kafka.common.TopicPartition;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.streaming.PartitionOffset;
import org.apache.spark.sql.connector.write.SupportsTruncate;
import org.apache.spark.sql.connector.write.Write;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.internal.connector.SupportsStreamingUpdateAsAppend;
import org.apache.spark.sql.kafka010.KafkaBatchInputPartition;
import org.apache.spark.sql.kafka010.KafkaSourcePartitionOffset;
import org.apache.spark.sql.kafka010.KafkaSourceProvider;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** The parts of Spark's Kafka source and sink that our own are made of: the table, and ranges of offsets. */
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

  /** A builder that Spark lets write updates of a streaming query, each as a record of its own. */
  public static WriteBuilder updates(Supplier<Write> made) {
    return new Updates(made);
  }

  private record Updates(Supplier<Write> made) implements SupportsTruncate, SupportsStreamingUpdateAsAppend {
    @Override
    public WriteBuilder truncate() {
      return this;
    }

    @Override
    public Write build() {
      return made.get();
    }
  }

  /** What tells a batch in real time how far a partition was read. */
  public static PartitionOffset reached(TopicPartition place, long offset) {
    return new KafkaSourcePartitionOffset(place, offset);
  }
}
