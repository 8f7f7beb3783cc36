package ksqlpy.internals;

import org.apache.spark.SparkConf;
import org.apache.spark.shuffle.streaming.MultiShuffleManager;

/**
 * Spark's manager of shuffles: {@code spark.shuffle.manager}. It is the first class that a driver or an executor makes of
 * what {@link Guards} change.
 */
@SuppressWarnings("deprecation") // it chooses between the manager of batches and that of streams
public final class Shuffles extends MultiShuffleManager {
  static {
    Guards.begin();
  }

  public Shuffles(SparkConf conf) {
    super(conf);
    if (conf.getBoolean("spark.authenticate", false) && !Guards.guardsShuffles()) {
      throw new IllegalStateException("spark.authenticate: the ports of the streaming shuffle cannot be guarded");
    }
  }
}
