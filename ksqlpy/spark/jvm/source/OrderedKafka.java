package ksqlpy.source;

import java.util.Map;
import java.util.Set;
import ksqlpy.internals.KafkaParts;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * A source of Kafka records for {@code spark.readStream.format(…)}: Spark's own, but that one task reads all partitions
 * and gives their records in the order of their times, as a task of Kafka Streams does with its inputs, see {@link
 * Merge}; or each task one partition ({@link #APART}). It takes the options of Spark's source and {@link #APART}, {@link
 * #IDLE}, {@link #END}, {@link #TABLES}, {@link #TIMES}, {@link #TIMED}.
 */
public final class OrderedKafka implements TableProvider {
  /** Kafka Streams' {@code max.task.idle.ms}: how long a partition at its end is waited for. */
  static final String IDLE = "ksqlpy.max.task.idle.ms";

  /** Whether each partition is read by a task of its own. */
  static final String APART = "ksqlpy.apart";

  /** Where a micro-batch ends at the latest: {@code {topic:{partition:offset}}}. */
  static final String END = "ksqlpy.end";

  /** The topics, one a line, whose records come before those of others with the same time. */
  static final String TABLES = "ksqlpy.tables";

  /** How many bytes a record has at most that is read, key and value, unpacked. */
  static final String LARGEST = "ksqlpy.record.max.bytes";

  /** Records that are not read: {@code {topic:{partition:[offset]}}}. */
  static final String SKIPPED = "ksqlpy.skipped";

  @Override
  public StructType inferSchema(CaseInsensitiveStringMap options) {
    return ((SupportsRead) KafkaParts.table(options)).newScanBuilder(options).build().readSchema();
  }

  @Override
  public Table getTable(StructType schema, Transform[] partitioning, Map<String, String> properties) {
    return new Records(schema);
  }

  /** The name of what gives the event times of records, see {@link ksqlpy.internals.EventTimes}; none: as they are. */
  static final String TIMES = "ksqlpy.times";

  /** Whether the times of records are their timestamps, or what {@link #TIMES} gives. */
  static final String TIMED = "ksqlpy.timed";

  private static final class Records implements SupportsRead {
    private final StructType schema;

    Records(StructType schema) {
      this.schema = schema;
    }

    @Override
    public String name() {
      return "kafka, in the order of time";
    }

    @Override
    @SuppressWarnings("deprecation") // Spark's own way to ask for the columns
    public StructType schema() {
      return schema;
    }

    @Override
    public Set<TableCapability> capabilities() {
      return Set.of(TableCapability.MICRO_BATCH_READ, TableCapability.BATCH_READ);
    }

    @Override
    public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
      Scan kafka = ((SupportsRead) KafkaParts.table(options)).newScanBuilder(options).build();
      return () -> new OrderedScan(kafka, options);
    }
  }

  private static final class OrderedScan implements Scan {
    private final Scan kafka;
    private final CaseInsensitiveStringMap options;

    OrderedScan(Scan kafka, CaseInsensitiveStringMap options) {
      this.kafka = kafka;
      this.options = options;
    }

    @Override
    public StructType readSchema() {
      return kafka.readSchema();
    }

    @Override
    public Batch toBatch() {
      return new Planned.Once(kafka.toBatch(), options);
    }

    @Override
    public MicroBatchStream toMicroBatchStream(String checkpoint) {
      return new OrderedStream(kafka.toMicroBatchStream(checkpoint), options);
    }
  }
}
