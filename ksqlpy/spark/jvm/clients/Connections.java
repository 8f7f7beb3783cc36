package ksqlpy.clients;

import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import ksqlpy.internals.Guards;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.config.ConfigData;
import org.apache.kafka.common.config.provider.ConfigProvider;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.spark.TaskContext;

/**
 * How this JVM reaches the brokers, by the keys of connections: the settings of consumers, producers and admin clients,
 * with the secrets in them. They come once, from the engine, and stand in no plan, option, log or file.
 *
 * <p>Options of Spark's sources and sinks name a secret by {@code ${ksqlpy:key:setting}}, which Kafka's clients have
 * looked up here (KIP-297). Executors get the settings with their tasks, as a property that Spark's event log leaves
 * out.
 */
public final class Connections implements ConfigProvider {
  /** Ahead of the key, the property of tasks with the settings as JSON. Spark redacts by the word secret. */
  public static final String PROPERTY = "ksqlpy.connection.secret.";

  private static final String ENDPOINT = "sasl.oauthbearer.token.endpoint.url";

  /** Of Kafka's clients: the endpoints that they may ask for tokens. */
  private static final String ALLOWED = "org.apache.kafka.sasl.oauthbearer.allowed.urls";

  private static final ObjectMapper MAPPER = new ObjectMapper();

  static {
    Guards.begin(); // ahead of the first client and the first task
  }

  private static final Map<String, Map<String, Map<String, String>>> KNOWN = new ConcurrentHashMap<>();

  /**
   * Knows a connection from now on: its settings by kind, as JSON. Returns null, or what Kafka's clients say against
   * them.
   */
  public static String keep(String key, String settings) throws IOException {
    Map<String, Map<String, String>> kinds = read(settings);
    if (kinds.equals(KNOWN.get(key))) {
      return null;
    }
    try {
      check(kinds);
    } catch (RuntimeException e) {
      return String.valueOf(e.getMessage());
    }
    know(key, kinds);
    return null;
  }

  private static void check(Map<String, Map<String, String>> kinds) {
    Map<String, Object> consumer = new HashMap<>(kinds.get("consumer"));
    consumer.put("key.deserializer", ByteArrayDeserializer.class.getName());
    consumer.put("value.deserializer", ByteArrayDeserializer.class.getName());
    Map<String, Object> producer = new HashMap<>(kinds.get("producer"));
    producer.put("key.serializer", ByteArraySerializer.class.getName());
    producer.put("value.serializer", ByteArraySerializer.class.getName());
    // Their constructors check.
    new ConsumerConfig(consumer);
    new ProducerConfig(producer);
    new AdminClientConfig(new HashMap<>(kinds.get("admin")));
  }

  private static Map<String, Map<String, String>> read(String settings) throws IOException {
    return MAPPER.readValue(settings, new TypeReference<Map<String, Map<String, String>>>() {});
  }

  private static synchronized void know(String key, Map<String, Map<String, String>> kinds) {
    String endpoint = kinds.get("consumer").get(ENDPOINT);
    if (endpoint != null) {
      String allowed = System.getProperty(ALLOWED, "");
      if (!("," + allowed + ",").contains("," + endpoint + ",")) {
        System.setProperty(ALLOWED, allowed.isEmpty() ? endpoint : allowed + "," + endpoint);
      }
    }
    KNOWN.put(key, kinds);
  }

  /** The settings of a kind of clients, {@code consumer}, {@code producer} or {@code admin}, to be added to. */
  public static Map<String, Object> settings(String key, String kind) {
    Map<String, Map<String, String>> kinds = KNOWN.get(key);
    TaskContext task = TaskContext.get();
    String sent = kinds == null && task != null ? task.getLocalProperty(PROPERTY + key) : null;
    if (sent != null) {
      try {
        kinds = read(sent);
      } catch (IOException e) {
        throw new IllegalStateException("the settings of connection " + key + " cannot be read");
      }
      know(key, kinds);
    }
    if (kinds == null) {
      throw new IllegalStateException("this JVM was not told of connection " + key);
    }
    return new HashMap<>(kinds.get(kind));
  }

  /** For Kafka's clients, which make one each. */
  public Connections() {}

  public void configure(Map<String, ?> settings) {}

  public ConfigData get(String key) {
    Map<String, String> found = new HashMap<>();
    for (Map.Entry<String, Object> one : settings(key, "consumer").entrySet()) {
      found.put(one.getKey(), String.valueOf(one.getValue()));
    }
    return new ConfigData(found);
  }

  public ConfigData get(String key, Set<String> names) {
    Map<String, String> found = get(key).data();
    found.keySet().retainAll(names);
    return new ConfigData(found);
  }

  public void close() {}
}
