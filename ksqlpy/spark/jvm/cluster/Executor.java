package ksqlpy.cluster;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.sun.management.UnixOperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.util.LinkedHashMap;
import java.util.Map;
import ksqlpy.internals.Executors;
import ksqlpy.internals.Tasks;
import ksqlpy.metrics.Figures;
import ksqlpy.once.Tail;
import ksqlpy.sink.Senders;
import ksqlpy.sink.SinkProducers;
import ksqlpy.tasks.Attempts;
import ksqlpy.tasks.ToDriver;
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

  private String id;
  private volatile boolean over;

  public void init(PluginContext given, Map<String, String> settings) {
    if (given.executorID().equals("driver")) {
      return; // of a local master
    }
    id = given.executorID();
    ToDriver.by(given);
    come();
    CodeExchange.begin(id);
    Thread thread = new Thread(this, "ksqlpy reports");
    thread.setDaemon(true);
    thread.setContextClassLoader(Thread.currentThread().getContextClassLoader());
    thread.start();
  }

  /** Says so to the driver, which may hold it back: Spark gives it tasks only after {@link #init}. */
  private void come() {
    try {
      ToDriver.ask(Map.of("newcomer", id));
    } catch (Exception e) { // then it gets tasks at once
      LOG.warn("the driver does not answer: {}", e.toString());
    }
  }

  public void run() {
    long round = 0;
    while (!over) {
      long pause = 250;
      try {
        JsonNode answer = MAPPER.readTree(ToDriver.ask(report(round)));
        round = answer.get("round").asLong();
        pause = answer.get("pause").asLong();
        Checks.wanted(answer.get("checks"));
        answer.get("forget").forEach(query -> Figures.forget(query.asText()));
        answer.get("ended").forEach(life -> SinkProducers.release(life.asText()));
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
    return report;
  }

  public void shutdown() {
    over = true;
  }
}
