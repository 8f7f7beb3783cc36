package ksqlpy.source;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.kafka.common.TopicPartition;

/** Which partition each query waits for, and since when; for DESCRIBE EXTENDED. */
public final class Waits {
  private static final Map<String, Wait> OF = new ConcurrentHashMap<>();

  private final String query;

  Waits(String query) {
    this.query = query;
  }

  /** What is waited for: {@code topic-partition}, and since when it has no record at hand, in ms since 1970. */
  public record Wait(String partition, long since) {}

  /** What a query waits for, null if nothing. */
  public static Wait of(String query) {
    return OF.get(query);
  }

  void on(TopicPartition place, long since) {
    OF.put(query, new Wait(place.toString(), since));
  }

  void over() {
    OF.remove(query);
  }
}
