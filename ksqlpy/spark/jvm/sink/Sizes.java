package ksqlpy.sink;

import java.util.Map;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.record.AbstractRecords;
import org.apache.kafka.common.record.CompressionType;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.record.RecordBatch;
import org.apache.kafka.common.record.SimpleRecord;

/**
 * How large a record is to those who refuse larger ones. The producer counts it as it is, with an upper bound of what is
 * around it ({@code max.request.size}, {@code buffer.memory}). The broker counts a batch as it is compressed, by the
 * producer and then by itself ({@code max.message.bytes}); of several records a batch that is too large is split by the
 * producer, so that a record alone counts.
 */
final class Sizes {
  /** The setting {@code compression.type} of a topic that keeps batches as they come. */
  static final String AS_SENT = "producer";

  /** In the place of the present time, which has as many bytes. */
  private static final long ANY_TIME = 0;

  /** More bytes than a record has around key, value and headers, its coordinates counted with the value. */
  static final long AROUND = 150;

  private final long request;
  private final Compression compression;

  /** Of a producer with these settings. */
  Sizes(Map<String, ?> settings) {
    request =
        Math.min(
            number(settings, ProducerConfig.MAX_REQUEST_SIZE_CONFIG),
            number(settings, ProducerConfig.BUFFER_MEMORY_CONFIG));
    compression = compression(settings);
  }

  private static long number(Map<String, ?> settings, String name) {
    Object given = settings.get(name);
    return Long.parseLong(
        String.valueOf(given == null ? ProducerConfig.configDef().defaultValues().get(name) : given).trim());
  }

  private static Compression compression(Map<String, ?> settings) {
    Object given = settings.get(ProducerConfig.COMPRESSION_TYPE_CONFIG);
    CompressionType type = given == null ? CompressionType.NONE : CompressionType.forName(String.valueOf(given).trim());
    switch (type) {
      case GZIP:
        return Compression.gzip().level((int) number(settings, ProducerConfig.COMPRESSION_GZIP_LEVEL_CONFIG)).build();
      case LZ4:
        return Compression.lz4().level((int) number(settings, ProducerConfig.COMPRESSION_LZ4_LEVEL_CONFIG)).build();
      case ZSTD:
        return Compression.zstd().level((int) number(settings, ProducerConfig.COMPRESSION_ZSTD_LEVEL_CONFIG)).build();
      default:
        return Compression.of(type).build();
    }
  }

  /** The bytes of a record as the producer counts them. */
  static long of(ProducerRecord<byte[], byte[]> record) {
    return AbstractRecords.estimateSizeInBytesUpperBound(
        RecordBatch.CURRENT_MAGIC_VALUE,
        CompressionType.NONE,
        record.key(),
        record.value(),
        record.headers().toArray());
  }

  /** More bytes than a header has, whatever letters are in its name. */
  static long most(Header header) {
    return 3L * header.key().length() + (header.value() == null ? 0 : header.value().length) + 10;
  }

  /** Whether a record with no more bytes than that gets into the topic in any case. */
  boolean fits(long most, Limits.Topic topic) {
    return most <= request && topic.most != Long.MAX_VALUE && most <= least(topic.most) && most < topic.refusedSize();
  }

  /** Why a record of this size does not get into the topic; null if it does. */
  String refusal(ProducerRecord<byte[], byte[]> record, long size, Limits.Topic topic) {
    if (size > request) {
      return "the producer sends " + request + " (max.request.size, buffer.memory)";
    }
    if (size >= topic.refusedSize()) {
      return "the brokers refuse " + topic.refusedSize();
    }
    if (size > least(topic.most) && largest(record, topic) > topic.most) {
      return "the topic takes " + topic.most + " (max.message.bytes, segment.bytes)";
    }
    return null;
  }

  /** Up to how many bytes, not compressed, a record fits in any case: no codec adds more than a sixth to it. */
  private static long least(long most) {
    return most - most / 5 - 100;
  }

  private long largest(ProducerRecord<byte[], byte[]> record, Limits.Topic topic) {
    long sent = batch(record, compression);
    return topic.codec.equals(AS_SENT) ? sent : Math.max(sent, batch(record, Compression.of(codec(topic.codec)).build()));
  }

  private static CompressionType codec(String name) {
    return name.equals("uncompressed") ? CompressionType.NONE : CompressionType.forName(name);
  }

  private static long batch(ProducerRecord<byte[], byte[]> record, Compression compression) {
    SimpleRecord alone = new SimpleRecord(ANY_TIME, record.key(), record.value(), record.headers().toArray());
    return MemoryRecords.withRecords(RecordBatch.CURRENT_MAGIC_VALUE, compression, alone).sizeInBytes();
  }

  /** Bytes, not compressed, of a record that fits into the topic in any case. */
  long room(Limits.Topic topic) {
    long most = topic.most == Long.MAX_VALUE ? Limits.USUAL : topic.most;
    boolean kept = topic.codec.equals(AS_SENT) || codec(topic.codec) == CompressionType.NONE;
    boolean plain = kept && compression.type() == CompressionType.NONE;
    return Math.min(request, Math.min(topic.refusedSize() - 1, plain ? most : least(most)));
  }
}
