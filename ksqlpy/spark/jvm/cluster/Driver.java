package ksqlpy.cluster;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.HashMap;
import java.util.Map;
import ksqlpy.internals.Executors;
import ksqlpy.metrics.Reports;
import org.apache.spark.SparkContext;
import org.apache.spark.api.plugin.DriverPlugin;
import org.apache.spark.api.plugin.PluginContext;

/** The driver's side: takes the reports of executors, and their wishes to write, which the engine answers. */
public final class Driver implements DriverPlugin {
  private static final ObjectMapper MAPPER = new ObjectMapper();

  public Map<String, String> init(SparkContext spark, PluginContext context) {
    Reports.begin();
    ProgressBoard.begin();
    ExecutorQuarantine.begin(spark);
    Executors.watch(spark, Reports::joined, Driver::left);
    return new HashMap<>();
  }

  private static void left(String executor) {
    Reports.left(executor);
    ProgressBoard.left(executor);
    ExecutorQuarantine.left(executor);
  }

  /**
   * A report, see {@link Reports}, the wish of a producer to write, see {@link Registrations}, an executor that has come or
   * is held back, see {@link ExecutorQuarantine}, or what is on its way in an executor, see {@link ProgressBoard}; all are
   * JSON.
   */
  public Object receive(Object message) throws Exception {
    JsonNode asked = MAPPER.readTree((String) message);
    if (asked.has("exchange")) {
      return ProgressBoard.take(asked);
    }
    if (asked.has("producer")) {
      return Registrations.ask(asked);
    }
    if (asked.has("newcomer")) {
      return ExecutorQuarantine.come(asked.get("newcomer").asText());
    }
    return asked.has("held") ? ExecutorQuarantine.prepare(asked) : Reports.take(asked);
  }

  public void shutdown() {
    Reports.end();
  }
}
