package ksqlpy.source;

import org.apache.kafka.clients.consumer.ConsumerRecord;

/** The time of a record by which it is ordered, in ms since 1970. */
interface EventTime {
  long of(ConsumerRecord<byte[], byte[]> record);
}
