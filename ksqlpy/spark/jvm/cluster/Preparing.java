package ksqlpy.cluster;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.util.Map;
import ksqlpy.internals.Speedup;
import ksqlpy.speedups.StateFiles;
import ksqlpy.tasks.ToDriver;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.rocksdb.RocksDB;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** An executor that is held back: loads what tasks need when {@link ExecutorQuarantine} says so, and reports it. */
final class Preparing implements Runnable {
  private static final Logger LOG = LoggerFactory.getLogger(Preparing.class);
  private static final ObjectMapper MAPPER = new ObjectMapper();

  /** Ms between two questions. */
  private static final long PAUSE = 1000;

  private final String executor;

  private Preparing(String executor) {
    this.executor = executor;
  }

  /** Goes on in a thread of its own until it is admitted; with the class loader of this thread, which must be that of tasks. */
  static void begin(String executor) {
    Thread thread = new Thread(new Preparing(executor), "ksqlpy preparing");
    thread.setDaemon(true);
    thread.setContextClassLoader(Thread.currentThread().getContextClassLoader());
    thread.start();
  }

  public void run() {
    boolean loaded = false;
    while (true) {
      try {
        JsonNode answer = MAPPER.readTree(ToDriver.ask(Map.of("held", executor, "loaded", Boolean.valueOf(loaded))));
        if (!answer.get("held").asBoolean()) {
          return;
        }
        if (answer.get("load").asBoolean() && !loaded) {
          load();
          loaded = true;
          continue;
        }
      } catch (Exception e) {
        LOG.debug("the driver does not answer: {}", e.toString());
      }
      try {
        Thread.sleep(PAUSE);
      } catch (InterruptedException e) {
        return;
      }
    }
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
}
