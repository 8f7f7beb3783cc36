package ksqlpy.source;

import java.nio.ByteBuffer;
import org.apache.kafka.common.errors.SerializationException;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Ends a poll that has unpacked so many bytes: Kafka's own limits count what is compressed, and one batch of 1 MB may have
 * gigabytes of records. A consumer gives what it has when a record cannot be deserialized, and tries that record again
 * with the next poll.
 */
final class PollRoom extends ByteArrayDeserializer {
  private static final long ROOM = 32L << 20;

  private long left = ROOM;

  /** A poll begins. */
  void begin() {
    left = ROOM;
  }

  @Override
  public byte[] deserialize(String topic, Headers headers, ByteBuffer data) {
    if (left <= 0) {
      throw new SerializationException("enough for one poll");
    }
    left -= data == null ? 0 : data.remaining();
    return super.deserialize(topic, headers, data);
  }
}
