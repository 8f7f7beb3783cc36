package ksqlpy.cluster;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import ksqlpy.internals.GeneratedCode;
import ksqlpy.tasks.ToDriver;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.rocksdb.RocksDB;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * An executor's side of {@link SharedCode}: tells the driver of code that it has compiled, and compiles what others have
 * while it gets no tasks.
 */
final class CodeExchange implements Runnable {
  private static final Logger LOG = LoggerFactory.getLogger(CodeExchange.class);
  private static final ObjectMapper MAPPER = new ObjectMapper();

  /** Ms between two looks. */
  private static final long PAUSE = 1000;

  private final String executor;
  private final Set<String> named = new HashSet<>();
  private Set<String> asked = Set.of();
  private long count;
  private boolean held = true; // not known before the first answer
  private boolean prepared;

  private CodeExchange(String executor) {
    this.executor = executor;
  }

  /** Begins, in a thread of its own with the class loader of this one, which must be that of tasks. */
  static void begin(String executor) {
    Thread thread = new Thread(new CodeExchange(executor), "ksqlpy code");
    thread.setDaemon(true);
    thread.setContextClassLoader(Thread.currentThread().getContextClassLoader());
    thread.start();
  }

  public void run() {
    while (true) {
      boolean more = false;
      try {
        more = exchange();
      } catch (Exception e) {
        LOG.debug("no exchange of code with the driver: {}", e.toString());
      }
      try {
        Thread.sleep(more ? 0 : PAUSE);
      } catch (InterruptedException e) {
        return;
      }
    }
  }

  /** Whether there may be more to do at once. */
  private boolean exchange() throws Exception {
    Map<String, String> texts = new HashMap<>();
    List<String> names = new ArrayList<>();
    if (GeneratedCode.count() != count || !asked.isEmpty()) {
      count = GeneratedCode.count();
      for (String text : GeneratedCode.texts()) {
        String name = Integer.toHexString(text.hashCode()) + "-" + text.length();
        if (named.add(name)) {
          names.add(name);
        } else if (asked.contains(name)) {
          texts.put(name, text);
        }
      }
    }
    if (names.isEmpty() && texts.isEmpty() && !held) {
      return false;
    }
    Map<String, Object> report = new LinkedHashMap<>();
    report.put("executor", executor);
    report.put("names", names);
    report.put("texts", texts);
    JsonNode answer = MAPPER.readTree(ToDriver.ask(report));
    held = answer.get("held").asBoolean();
    asked = new HashSet<>();
    answer.get("tell").forEach(name -> asked.add(name.asText()));
    answer.get("compile").properties().forEach(code -> compile(code.getKey(), code.getValue().asText()));
    return !asked.isEmpty() || !answer.get("compile").isEmpty();
  }

  /** Loads what the first tasks would: the library of states, and the classes of Kafka's consumer, which connects nowhere. */
  private static void load() {
    RocksDB.loadLibrary();
    ByteArrayDeserializer bytes = new ByteArrayDeserializer();
    new KafkaConsumer<>(Map.of("bootstrap.servers", "127.0.0.1:1"), bytes, bytes).close();
  }

  private void compile(String name, String text) {
    named.add(name);
    if (!prepared) {
      prepared = true;
      load();
    }
    try {
      GeneratedCode.compile(text);
    } catch (RuntimeException e) { // a task would say so, too
      LOG.debug("code {} cannot be compiled: {}", name, e.toString());
    }
  }
}
