package ksqlpy.read;

import java.nio.ByteBuffer;
import java.util.NoSuchElementException;
import ksqlpy.clients.Registry;

/** What stands ahead of values whose schemas lie in the schema registry: a zero byte and the id of the schema. */
final class Registered {
  /** How many bytes it takes. */
  static final int AHEAD = 1 + Integer.BYTES;

  private Registered() {}

  /** The id; {@code what}: Avro, JSON or Protobuf, in messages. Throws Unreadable. */
  static int id(byte[] bytes, String what) {
    if (bytes.length < AHEAD) {
      throw new Unreadable("not " + what + " of a schema registry: it has " + bytes.length + " bytes");
    }
    if (bytes[0] != 0) {
      throw new Unreadable(
          "not " + what + " of a schema registry: it begins with byte " + (bytes[0] & 0xff) + ", not 0");
    }
    return ByteBuffer.wrap(bytes, 1, Integer.BYTES).getInt();
  }

  /** The schema of an id, of the kind as the registry calls it; throws Unreadable. */
  static Registry.Found schema(int id, String kind) {
    try {
      return Registry.schema(id, kind);
    } catch (NoSuchElementException e) {
      throw new Unreadable(e.getMessage());
    }
  }
}
