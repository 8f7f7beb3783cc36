package ksqlpy.sink;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * What is known of the topics that a query writes: how large a batch of records each takes, and which are for what. The
 * engine asks the brokers at each start of a query ({@code ksqlpy/spark/limits.py}). On one machine it tells this JVM; to
 * executors it comes as a setting of their producers.
 *
 * <p>Where the brokers refuse a record all the same, since a limit has changed or may not be asked for, this JVM takes the
 * largest record that it has sent for too large from then on.
 */
public final class Limits {
  /** The setting of a producer that has them. */
  static final String SETTING = "ksqlpy.limits";

  /** What a topic takes by Kafka's defaults: a dead letter is cut to that where nothing is known. */
  static final long USUAL = 1_048_588;

  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final Map<String, Limits> KNOWN = new ConcurrentHashMap<>();
  private static final Map<String, Topic> LEARNED = new ConcurrentHashMap<>();

  final String query;
  final String dead;
  /** The topic of results, whose records become dead letters where they are too large; empty for none. */
  final String results;
  /** How many joined tables results say something of. */
  final int tables;
  /** Whether the number of a result that is a dead letter is another one, as its place orders nothing. */
  final boolean moved;
  /** The topics of the sources, by their numbers. */
  final List<String> sources = new ArrayList<>();
  /** The ids of these topics. */
  final Map<String, String> ids = new HashMap<>();
  /** The names of headers, by what they say. */
  final Map<String, String> names = new HashMap<>();

  private final Map<String, Topic> topics = new HashMap<>();

  private Limits(JsonNode described) {
    query = described.get("query").asText();
    dead = described.get("dead").asText();
    results = described.get("results").asText();
    tables = described.get("tables").asInt();
    moved = described.get("moved").asBoolean();
    described.get("sources").forEach(source -> sources.add(source.asText()));
    put(described.get("ids"), ids);
    put(described.get("names"), names);
    for (Map.Entry<String, JsonNode> one : described.get("topics").properties()) {
      JsonNode limit = one.getValue();
      long most = limit.path("most").asLong(Long.MAX_VALUE);
      String codec = limit.path("codec").asText(Sizes.AS_SENT);
      String place = query + "/" + one.getKey() + "/" + most + "/" + codec;
      topics.put(one.getKey(), LEARNED.computeIfAbsent(place, any -> new Topic(most, codec)));
    }
  }

  private static void put(JsonNode from, Map<String, String> into) {
    from.properties().forEach(one -> into.put(one.getKey(), one.getValue().asText()));
  }

  /** Those of a query, from now on; described as {@code ksqlpy/spark/limits.py} does. */
  public static void set(String query, String described) throws IOException {
    KNOWN.put(query, read(described));
  }

  static Limits read(String described) throws IOException {
    return new Limits(MAPPER.readTree(described));
  }

  /** Those of a query, null where it has none. */
  static Limits of(String query) {
    return KNOWN.get(query);
  }

  /** Forgets a query that has ended for good. */
  public static void forget(String query) {
    KNOWN.remove(query);
    LEARNED.keySet().removeIf(place -> place.startsWith(query + "/"));
  }

  /** That of a topic, null for one that the query does not write. */
  Topic topic(String name) {
    return topics.get(name);
  }

  /** What one topic takes. */
  static final class Topic {
    /** Bytes of a batch with one record, as it is compressed. */
    final long most;
    /** How the brokers compress: a codec, or {@link Sizes#AS_SENT}. */
    final String codec;

    private volatile long sent = 0;
    private volatile long refused = Long.MAX_VALUE;

    private Topic(long most, String codec) {
      this.most = most;
      this.codec = codec;
    }

    /** A record of this size, not compressed, goes to it. */
    void sent(long size) {
      if (size > sent) {
        synchronized (this) {
          sent = Math.max(sent, size);
        }
      }
    }

    /** The brokers have refused a record for its size. */
    synchronized void refused() {
      if (sent > 0) {
        refused = Math.min(refused, sent);
        sent = 0;
      }
    }

    /** The size, not compressed, of a record that the brokers refuse whatever the limit says. */
    long refusedSize() {
      return refused;
    }
  }
}
