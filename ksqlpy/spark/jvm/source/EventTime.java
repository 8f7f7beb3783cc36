package ksqlpy.source;

import ksqlpy.internals.EventTimes;
import ksqlpy.internals.RecordRows;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/** The time of a record by which it is ordered, in ms since 1970. */
interface EventTime {
  long of(ConsumerRecord<byte[], byte[]> record);

  /** The time of the record itself, or what its columns say. */
  static EventTime by(EventTimes times) {
    if (times == null) {
      return ConsumerRecord::timestamp;
    }
    EventTimes opened = times.open();
    RecordRows rows = new RecordRows();
    return record -> opened.of(rows.of(record), record.timestamp());
  }
}
