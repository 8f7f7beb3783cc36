package ksqlpy.source;

import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.Set;
import ksqlpy.internals.Unpacked;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.record.TimestampType;

/**
 * Records that nothing may read: those that are too large, those whose time Spark cannot hold, those that were skipped by
 * a statement. Such a record has no type of its time, which no other record of a broker lacks, and a last header with the
 * reason. Plans make a dead letter of it.
 */
final class Refused {
  /** The latest time of a record, in ms: {@code LATEST} of {@code ksqlpy/functions/times.py}. */
  static final long LATEST = 9_000_000_000_000_000L;

  /** Bytes of a skipped record that its dead letter has: it may have been skipped since it is too much for the memory. */
  private static final long KEPT = 1 << 20;

  private static final String REASON = "ksqlpy.refused";

  private Refused() {}

  /** The record itself, or what is given in its place. {@code skipped}: the offsets of its partition; null for none. */
  static ConsumerRecord<byte[], byte[]> orRead(
      ConsumerRecord<byte[], byte[]> record, long largest, Set<Long> skipped) {
    int keySize = record.serializedKeySize();
    int valueSize = record.serializedValueSize();
    long size = Math.max(0, keySize) + Math.max(0, valueSize);
    if (valueSize < 0 && keySize < 0) {
      size = Unpacked.size(record.headers());
    }
    if (skipped != null && skipped.contains(Long.valueOf(record.offset()))) {
      boolean kept = size <= KEPT;
      String reason = "skipped by a statement" + (kept ? "" : ", without its " + size + " bytes");
      return refused(record, kept ? record.key() : null, kept ? record.value() : null, time(record), reason);
    }
    if (size > largest) {
      String reason = "too large: it has " + size + " bytes, ksqlpy.record.max.bytes is " + largest;
      return refused(record, null, null, time(record), reason);
    }
    if (!isTime(record.timestamp())) {
      String way = record.timestamp() < 0 ? "is before 1970" : "is too late for milliseconds";
      String reason = "event time " + way + " (" + record.timestamp() + ")";
      return refused(record, record.key(), record.value(), time(record), reason);
    }
    return record;
  }

  private static boolean isTime(long time) {
    return time <= LATEST && time >= -LATEST; // plans see to those before 1970
  }

  /** A time for its dead letter, which the brokers must not delete at once. */
  private static long time(ConsumerRecord<byte[], byte[]> record) {
    return isTime(record.timestamp()) ? record.timestamp() : System.currentTimeMillis();
  }

  private static ConsumerRecord<byte[], byte[]> refused(
      ConsumerRecord<byte[], byte[]> record, byte[] key, byte[] value, long time, String reason) {
    Headers headers = Unpacked.without(record.headers());
    headers.add(REASON, reason.getBytes(StandardCharsets.UTF_8));
    return new ConsumerRecord<>(
        record.topic(),
        record.partition(),
        record.offset(),
        time,
        TimestampType.NO_TIMESTAMP_TYPE,
        key == null ? -1 : key.length,
        value == null ? -1 : value.length,
        key,
        value,
        headers,
        Optional.empty());
  }
}
