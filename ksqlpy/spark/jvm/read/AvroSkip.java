package ksqlpy.read;

import java.io.IOException;
import org.apache.avro.Schema;
import org.apache.avro.io.BinaryDecoder;

/**
 * Passes by a value that nobody asked for. The work has a bound: records that hold others twice, forty levels deep, make
 * a value without an end of a schema of 4 KB, and an array of nulls one of ten bytes.
 */
final class AvroSkip {
  /** Values within values that are passed by, beyond one for each byte. */
  private static final int SPARE = 100_000;

  private long left;

  private AvroSkip(long left) {
    this.left = left;
  }

  static void skip(Schema schema, BinaryDecoder in) throws IOException {
    new AvroSkip(in.inputStream().available() + (long) SPARE).pass(schema, in);
  }

  private void pass(Schema schema, BinaryDecoder in) throws IOException {
    if (--left < 0) {
      throw new Unreadable("a value that is not read has too many parts");
    }
    switch (schema.getType()) {
      case RECORD:
        for (Schema.Field field : schema.getFields()) {
          pass(field.schema(), in);
        }
        return;
      case ARRAY:
        for (long count = in.skipArray(); count != 0; count = in.skipArray()) {
          for (long i = 0; i < count; i++) {
            pass(schema.getElementType(), in);
          }
        }
        return;
      case MAP:
        for (long count = in.skipMap(); count != 0; count = in.skipMap()) {
          for (long i = 0; i < count; i++) {
            in.skipString();
            pass(schema.getValueType(), in);
          }
        }
        return;
      case UNION:
        pass(schema.getTypes().get(in.readIndex()), in);
        return;
      case STRING:
        in.skipString();
        return;
      case BYTES:
        in.skipBytes();
        return;
      case FIXED:
        in.skipFixed(schema.getFixedSize());
        return;
      case ENUM:
      case INT:
        in.readInt();
        return;
      case LONG:
        in.readLong();
        return;
      case FLOAT:
        in.skipFixed(Float.BYTES);
        return;
      case DOUBLE:
        in.skipFixed(Double.BYTES);
        return;
      case BOOLEAN:
        in.skipFixed(1);
        return;
      default:
        return; // null
    }
  }
}
