package ksqlpy.sink;

import java.io.IOException;
import java.util.Map;
import java.util.Set;
import ksqlpy.internals.KafkaParts;
import ksqlpy.tasks.Progress;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.PhysicalWriteInfo;
import org.apache.spark.sql.connector.write.Write;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.connector.write.streaming.StreamingDataWriterFactory;
import org.apache.spark.sql.connector.write.streaming.StreamingWrite;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * A sink of Kafka records for {@code writeStream.format(…)}: Spark's own, but that the tasks of a query send their
 * results in the order of time, see {@link Progress}. It takes the options of Spark's sink, and values of {@link
 * SinkValue}.
 */
public final class OrderedSink implements TableProvider {
  @Override
  @SuppressWarnings("deprecation") // Spark's own way to ask for the columns
  public StructType inferSchema(CaseInsensitiveStringMap options) {
    return KafkaParts.table(options).schema();
  }

  @Override
  public Table getTable(StructType schema, Transform[] partitioning, Map<String, String> properties) {
    return new Results((SupportsWrite) KafkaParts.table(new CaseInsensitiveStringMap(properties)));
  }

  private static final class Results implements SupportsWrite {
    private final SupportsWrite kafka;

    Results(SupportsWrite kafka) {
      this.kafka = kafka;
    }

    @Override
    public String name() {
      return "kafka, in the order of time";
    }

    @Override
    @SuppressWarnings("deprecation")
    public StructType schema() {
      return kafka.schema();
    }

    @Override
    public Set<TableCapability> capabilities() {
      return Set.of(TableCapability.STREAMING_WRITE, TableCapability.ACCEPT_ANY_SCHEMA);
    }

    @Override
    public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
      int value = info.schema().fieldIndex("value");
      return KafkaParts.updates(() -> new OrderedWrite(kafka.newWriteBuilder(info).build(), value));
    }
  }

  private static final class OrderedWrite implements Write {
    private final Write kafka;
    private final int value;

    OrderedWrite(Write kafka, int value) {
      this.kafka = kafka;
      this.value = value;
    }

    @Override
    public StreamingWrite toStreaming() {
      return new OrderedStreamingWrite(kafka.toStreaming(), value);
    }
  }

  private static final class OrderedStreamingWrite implements StreamingWrite {
    private final StreamingWrite kafka;
    private final int value;

    OrderedStreamingWrite(StreamingWrite kafka, int value) {
      this.kafka = kafka;
      this.value = value;
    }

    @Override
    public StreamingDataWriterFactory createStreamingWriterFactory(PhysicalWriteInfo info) {
      return new OrderedWriters(kafka.createStreamingWriterFactory(info), info.numPartitions(), value);
    }

    @Override
    public boolean useCommitCoordinator() {
      return kafka.useCommitCoordinator();
    }

    @Override
    public void commit(long epoch, WriterCommitMessage[] messages) {
      kafka.commit(epoch, messages);
    }

    @Override
    public void abort(long epoch, WriterCommitMessage[] messages) {
      kafka.abort(epoch, messages);
    }
  }

  private static final class OrderedWriters implements StreamingDataWriterFactory {
    private static final long serialVersionUID = 1L;

    private final StreamingDataWriterFactory kafka;
    private final int tasks;
    private final int value;

    OrderedWriters(StreamingDataWriterFactory kafka, int tasks, int value) {
      this.kafka = kafka;
      this.tasks = tasks;
      this.value = value;
    }

    @Override
    public DataWriter<InternalRow> createWriter(int partition, long task, long epoch) {
      return new OrderedWriter(kafka.createWriter(partition, task, epoch), tasks, value);
    }
  }

  private static final class OrderedWriter implements DataWriter<InternalRow> {
    private final DataWriter<InternalRow> kafka;
    private final Progress.Results results;
    private final int value;

    OrderedWriter(DataWriter<InternalRow> kafka, int tasks, int value) {
      this.kafka = kafka;
      this.results = Progress.ofResults(tasks, kafka::write);
      this.value = value;
    }

    @Override
    public void write(InternalRow row) throws IOException {
      results.add(SinkValue.rowtime(row.getBinary(value)), row);
    }

    @Override
    public WriterCommitMessage commit() throws IOException {
      results.finish();
      return kafka.commit();
    }

    @Override
    public void abort() throws IOException {
      kafka.abort();
    }

    @Override
    public void close() throws IOException {
      kafka.close();
    }
  }
}
