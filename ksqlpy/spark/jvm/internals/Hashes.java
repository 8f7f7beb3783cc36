package ksqlpy.internals;

import org.apache.spark.sql.catalyst.expressions.XXH64;
import org.apache.spark.unsafe.Platform;

/** Spark's hash of bytes with 64 bits, XXH64: neither Java's nor Kafka's public classes have one of this length. */
public final class Hashes {
  private static final long SEED = 42L;

  private Hashes() {}

  public static long of(byte[] bytes) {
    return XXH64.hashUnsafeBytes(bytes, Platform.BYTE_ARRAY_OFFSET, bytes.length, SEED);
  }
}
