package ksqlpy.cluster;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import ksqlpy.internals.Speedup;
import ksqlpy.speedups.CompiledCode;
import ksqlpy.speedups.GeneratedCode;
import ksqlpy.speedups.StateFiles;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.rocksdb.RocksDB;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One JVM's side of {@link SharedCode}, an executor's or the driver's own: tells of code that it has compiled, and takes
 * that of others.
 */
final class CodeExchange implements Runnable {
  private static final Logger LOG = LoggerFactory.getLogger(CodeExchange.class);
  private static final ObjectMapper MAPPER = new ObjectMapper();

  /** Ms between two looks. */
  private static final long PAUSE = 1000;

  /** The way to {@link SharedCode}: a report, answered as {@link ExecutorQuarantine#exchange} says. */
  interface Way {
    String ask(Map<String, Object> report) throws Exception;
  }

  private final String executor;
  private final Way way;
  private final Set<String> named = new HashSet<>();
  private final List<String> damaged = new ArrayList<>();
  private Set<String> asked = Set.of();
  private long count;
  private boolean load;
  private boolean loaded;
  private volatile boolean over;

  CodeExchange(String executor, Way way) {
    this.executor = executor;
    this.way = way;
  }

  /** Takes all that there is. */
  CodeExchange takeAll() {
    while (next()) {}
    return this;
  }

  /** Goes on in a thread of its own, until {@link #end}; with the class loader of this thread, which must be that of tasks. */
  void begin() {
    Thread thread = new Thread(this, "ksqlpy code");
    thread.setDaemon(true);
    thread.setContextClassLoader(Thread.currentThread().getContextClassLoader());
    thread.start();
  }

  void end() {
    over = true;
  }

  public void run() {
    while (!over) {
      boolean more = next();
      if (load && !loaded) {
        load();
        loaded = true;
      }
      try {
        Thread.sleep(more ? 0 : PAUSE);
      } catch (InterruptedException e) {
        return;
      }
    }
  }

  /** Whether there may be more to do at once. */
  private boolean next() {
    try {
      return exchange();
    } catch (LinkageError e) {
      Speedup.SHARED_CODE.failed(e);
      return false;
    } catch (Exception e) {
      LOG.debug("no exchange of code with the driver: {}", e.toString());
      return false;
    }
  }

  private boolean exchange() throws Exception {
    Map<String, byte[]> codes = new LinkedHashMap<>();
    List<String> names = new ArrayList<>();
    if (Speedup.SHARED_CODE.on() && (GeneratedCode.count() != count || !asked.isEmpty())) {
      count = GeneratedCode.count();
      for (Map.Entry<String, Object> kept : GeneratedCode.kept().entrySet()) {
        String name = name(kept.getKey());
        if (named.add(name)) {
          names.add(name);
        } else if (asked.contains(name)) {
          CompiledCode code = GeneratedCode.of(kept.getKey(), kept.getValue());
          if (code != null) {
            codes.put(name, code.packed());
          }
        }
      }
    }
    Map<String, Object> report = new LinkedHashMap<>();
    report.put("executor", executor);
    report.put("names", names);
    report.put("codes", codes);
    report.put("damaged", List.copyOf(damaged));
    report.put("loaded", Boolean.valueOf(loaded));
    JsonNode answer = MAPPER.readTree(way.ask(report));
    damaged.clear();
    load = answer.get("load").asBoolean();
    asked = new HashSet<>();
    answer.get("tell").forEach(name -> asked.add(name.asText()));
    for (Map.Entry<String, JsonNode> code : answer.get("codes").properties()) {
      keep(code.getKey(), code.getValue().binaryValue());
    }
    return !asked.isEmpty() || !answer.get("codes").isEmpty();
  }

  private static String name(String text) {
    return Integer.toHexString(text.hashCode()) + "-" + text.length();
  }

  /**
   * Loads what the first tasks would, all at once: the library of states, what reads the files of states, and the classes
   * of Kafka's consumer, which connects nowhere.
   */
  private static void load() {
    try {
      RocksDB.loadLibrary();
      if (Speedup.STATE_METADATA.on()) {
        StateFiles.prepare();
      }
      ByteArrayDeserializer bytes = new ByteArrayDeserializer();
      new KafkaConsumer<>(Map.of("bootstrap.servers", "127.0.0.1:1"), bytes, bytes).close();
    } catch (IOException | RuntimeException | LinkageError e) { // tasks do it then
      LOG.warn("not prepared for tasks: {}", e.toString());
    }
  }

  private void keep(String name, byte[] packed) {
    if (!Speedup.SHARED_CODE.on()) {
      return;
    }
    try {
      GeneratedCode.keep(CompiledCode.unpacked(packed));
      named.add(name);
    } catch (IOException | ReflectiveOperationException | LinkageError e) { // a task compiles it then
      LOG.warn("code {} is compiled again: {}", name, e.toString());
      damaged.add(name);
    }
  }
}
