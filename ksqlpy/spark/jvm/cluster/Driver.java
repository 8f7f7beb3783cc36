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
    Executors.watch(spark, Reports::joined, Reports::left);
    return new HashMap<>();
  }

  /** A report, see {@link Reports}, or the wish of a producer to write, see {@link Registrations}; both are JSON. */
  public Object receive(Object message) throws Exception {
    JsonNode asked = MAPPER.readTree((String) message);
    return asked.has("producer") ? Registrations.ask(asked) : Reports.take(asked);
  }

  public void shutdown() {
    Reports.end();
  }
}
