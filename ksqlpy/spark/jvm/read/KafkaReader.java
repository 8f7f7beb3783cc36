package ksqlpy.read;

import java.io.IOException;
import java.nio.ByteBuffer;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Reads ksqlDB's format KAFKA: one column as Kafka's own serializers write it. Numbers are big-endian and have their
 * length, text is UTF-8 (bad bytes become replacement characters, as in Kafka's), BYTES are as they are.
 */
public final class KafkaReader extends Reader {
  private static final long serialVersionUID = 1L;

  private static final int[] LENGTHS = {-1, Integer.BYTES, Long.BYTES, Double.BYTES};

  private final int kind;

  public KafkaReader(String spec) throws IOException {
    super(spec);
    Type type = type();
    if (!bare()) {
      if (type.fields.length != 1) {
        throw new IllegalArgumentException("the KAFKA format has one column, not " + type.fields.length);
      }
      type = type.fields[0];
    }
    kind = type.kind;
    if (kind < Type.INTEGER || kind > Type.BYTES) {
      throw new IllegalArgumentException("the KAFKA format does not support type " + type);
    }
  }

  public String name() {
    return "read_kafka";
  }

  public InternalRow invoke(byte[] bytes) {
    return result(bytes);
  }

  protected Object read(byte[] bytes) {
    Object value = value(bytes);
    return bare() ? value : new GenericInternalRow(new Object[] {value});
  }

  private Object value(byte[] bytes) {
    if (kind == Type.STRING) {
      return UTF8String.fromString(new String(bytes, java.nio.charset.StandardCharsets.UTF_8));
    }
    if (kind == Type.BYTES) {
      return bytes;
    }
    if (bytes.length != LENGTHS[kind]) {
      String[] names = {"", "an INTEGER", "a BIGINT", "a DOUBLE"};
      throw new Unreadable(names[kind] + " has " + LENGTHS[kind] + " bytes, not " + bytes.length);
    }
    ByteBuffer buffer = ByteBuffer.wrap(bytes);
    if (kind == Type.INTEGER) {
      return Integer.valueOf(buffer.getInt());
    }
    if (kind == Type.BIGINT) {
      return Long.valueOf(buffer.getLong());
    }
    return Double.valueOf(buffer.getDouble());
  }
}
