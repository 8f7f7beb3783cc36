package ksqlpy.cluster;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.sun.management.UnixOperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.util.LinkedHashMap;
import java.util.Map;
import ksqlpy.internals.Guards;
import ksqlpy.internals.Executors;
import ksqlpy.internals.Tasks;
import ksqlpy.metrics.Figures;
import ksqlpy.once.Tail;
import ksqlpy.python.Failures;
import ksqlpy.sink.Senders;
import ksqlpy.sink.SinkProducers;
import ksqlpy.tasks.Attempts;
import ksqlpy.tasks.Exchange;
import ksqlpy.tasks.ToDriver;
import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.core.LoggerContext;
import org.apache.logging.log4j.core.config.ConfigurationSource;
import org.apache.logging.log4j.core.config.Configurator;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.PluginContext;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** An executor's side: reports to the driver several times a second, and does what the answer asks for. */
public final class Executor implements ExecutorPlugin, Runnable {
  private static final Logger LOG = LoggerFactory.getLogger(Executor.class);
  private static final ObjectMapper MAPPER = new ObjectMapper();

  /** How many files this JVM may have open at once; -1 where the system has no such limit. */
  private static final Long FILES = Long.valueOf(
      ManagementFactory.getOperatingSystemMXBean() instanceof UnixOperatingSystemMXBean system
          ? system.getMaxFileDescriptorCount()
          : -1);

  /** Where Spark has the configuration of the log for JVMs that have none. */
  private static final String SPARK_LOG = "org/apache/spark/log4j2-defaults.properties";

  /** In so many ns the next report fails when the driver is gone. */
  private static final long NOTICE = 1_000_000_000L;

  private String id;
  private volatile boolean over;
  private volatile boolean alone;

  public void init(PluginContext given, Map<String, String> settings) {
    if (given.executorID().equals(ExecutorQuarantine.DRIVER)) {
      return; // of a local master
    }
    id = given.executorID();
    warnOnly();
    Guards.begin(); // ahead of the first client and the first task
    ToDriver.by(given);
    boolean held = come();
    Exchange.begin(id);
    Runtime.getRuntime().addShutdownHook(new Thread(this::leave, "ksqlpy end"));
    if (held) {
      Preparing.begin(id);
    }
    Thread thread = new Thread(this, "ksqlpy reports");
    thread.setDaemon(true);
    thread.setContextClassLoader(Thread.currentThread().getContextClassLoader());
    thread.start();
  }

  /**
   * Executors log warnings only, as the driver does, where nobody has configured their log: at each checkpoint Spark logs
   * the figures of each state as JSON, which costs a new JVM a second.
   */
  private static void warnOnly() {
    ConfigurationSource source = LoggerContext.getContext(false).getConfiguration().getConfigurationSource();
    if (String.valueOf(source.getLocation()).endsWith(SPARK_LOG)) {
      Configurator.setRootLevel(Level.WARN);
    }
  }

  /** Says so to the driver; whether that holds it back: Spark gives it tasks only after {@link #init}. */
  private boolean come() {
    try {
      return MAPPER.readTree(ToDriver.ask(Map.of("newcomer", id))).get("held").asBoolean();
    } catch (Exception e) { // then it gets tasks at once
      LOG.warn("the driver does not answer: {}", e.toString());
      return false;
    }
  }

  /**
   * When the driver is gone, Spark ends this JVM in order, which takes seconds: its tasks are still running. The next
   * driver waits for the processors, and nobody for what is put in order here. So it ends at once.
   */
  private void leave() {
    for (long end = System.nanoTime() + NOTICE; !over && System.nanoTime() < end; ) {
      if (alone) {
        Runtime.getRuntime().halt(1);
      }
      try {
        Thread.sleep(20);
      } catch (InterruptedException e) {
        return;
      }
    }
  }

  public void run() {
    long round = 0;
    while (!over) {
      long pause = 250;
      try {
        JsonNode answer = MAPPER.readTree(tell(report(round)));
        round = answer.get("round").asLong();
        pause = answer.get("pause").asLong();
        Checks.wanted(answer.get("checks"));
        answer.get("forget").forEach(query -> Figures.forget(query.asText()));
        // What they have not sent the brokers refuse, where its topic is there; another one of its name must not get it.
        answer.get("ended").forEach(life -> SinkProducers.cutOff(life.asText()));
        answer.get("emptied").forEach(tail -> Tail.empty(tail.asText()));
        answer.get("forgotten").forEach(tail -> Tail.forget(tail.asText()));
      } catch (Exception e) {
        LOG.warn("no report to the driver: {}", e.toString());
      }
      try {
        Thread.sleep(pause);
      } catch (InterruptedException e) {
        return;
      }
    }
  }

  /** Sends it; notes whether the driver has answered. */
  private String tell(Map<String, Object> report) throws Exception {
    try {
      String answer = ToDriver.ask(report);
      alone = false;
      return answer;
    } catch (Exception e) {
      alone = true;
      throw e;
    }
  }

  @Override
  public void onTaskStart() {
    Attempts.refuseLater();
  }

  private Map<String, Object> report(long round) throws Exception {
    Map<String, Object> report = new LinkedHashMap<>();
    report.put("id", id);
    report.put("address", Executors.address());
    report.put("version", Executors.version());
    report.put("files", FILES);
    report.put("now", Long.valueOf(System.currentTimeMillis()));
    report.put("checks", Checks.done());
    report.put("round", Long.valueOf(round));
    report.put("busy", Tasks.busy());
    report.put("sending", Senders.busy());
    report.put("figures", Figures.here());
    report.put("lives", SinkProducers.held());
    report.put("tails", Tail.known());
    report.put("python", Failures.take());
    return report;
  }

  public void shutdown() {
    over = true;
  }
}
