package ksqlpy.cluster;

import org.apache.spark.api.plugin.DriverPlugin;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.SparkPlugin;

/** What driver and executors of a cluster tell each other, besides what Spark does: the setting {@code spark.plugins}. */
public final class Plugin implements SparkPlugin {
  public DriverPlugin driverPlugin() {
    return new Driver();
  }

  public ExecutorPlugin executorPlugin() {
    return new Executor();
  }
}
