package ksqlpy.tasks;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.Map;
import org.apache.spark.api.plugin.PluginContext;

/** The way from an executor of a cluster to the driver. */
public final class ToDriver {
  private ToDriver() {}

  private static final ObjectMapper MAPPER = new ObjectMapper();

  private static volatile PluginContext way;

  /** This JVM is an executor, which has this way. */
  public static void by(PluginContext context) {
    way = context;
  }

  /** Sends JSON to the driver; gives its answer. Throws what Spark's RPC throws where it does not answer. */
  public static String ask(Map<String, Object> what) throws Exception {
    PluginContext known = way;
    if (known == null) {
      throw new IllegalStateException("this executor runs without ksqlpy's plugin: spark.plugins");
    }
    return (String) known.ask(MAPPER.writeValueAsString(what));
  }
}
