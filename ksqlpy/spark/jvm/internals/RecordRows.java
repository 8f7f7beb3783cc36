package ksqlpy.internals;

import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;
import org.apache.spark.sql.kafka010.KafkaRecordToRowConverter;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Function1;

/**
 * Makes rows of records, with headers, as Spark's Kafka source does; a row is valid until the next one. Most records have
 * no headers, and a time since 1970, whose count needs no calendar: their rows are written at once, where Spark makes
 * objects of all values first. For all others it is Spark's converter that is asked.
 */
public final class RecordRows {
  private static final int COLUMNS = 8;
  private static final int FIRST = 256;

  private final UnsafeRowWriter writer = new UnsafeRowWriter(COLUMNS, FIRST);
  private final Function1<ConsumerRecord<byte[], byte[]>, UnsafeRow> others =
      new KafkaRecordToRowConverter().toUnsafeRowProjector(true);
  private String name;
  private UTF8String topic;

  public UnsafeRow of(ConsumerRecord<byte[], byte[]> record) {
    if (record.timestamp() < 0 || record.headers().iterator().hasNext()) {
      return others.apply(record);
    }
    if (!record.topic().equals(name)) {
      name = record.topic();
      topic = UTF8String.fromString(name);
    }
    writer.reset();
    writer.zeroOutNullBytes();
    write(0, record.key());
    write(1, record.value());
    writer.write(2, topic);
    writer.write(3, record.partition());
    writer.write(4, record.offset());
    writer.write(5, TimeUnit.MILLISECONDS.toMicros(record.timestamp()));
    writer.write(6, record.timestampType().id);
    writer.setNullAt(7);
    return writer.getRow();
  }

  private void write(int column, byte[] bytes) {
    if (bytes == null) {
      writer.setNullAt(column);
    } else {
      writer.write(column, bytes);
    }
  }
}
