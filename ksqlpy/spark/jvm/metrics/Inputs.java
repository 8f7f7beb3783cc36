package ksqlpy.metrics;

import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;

/**
 * What a task that reads several partitions in the order of time says of them: which one it waits for, and how many
 * offsets of each it has at hand. These count as read for its consumer, but not for the query.
 */
public final class Inputs {
  private static final Map<String, Set<Inputs>> OF = new HashMap<>();

  private final String query;
  private final Supplier<Map<String, Long>> ahead;
  private volatile Wait wait;

  private record Wait(String partition, long since) {}

  /** {@code ahead}: offsets at hand by {@code topic-partition}; is asked by any thread. */
  public Inputs(String query, Supplier<Map<String, Long>> ahead) {
    this.query = query;
    this.ahead = ahead;
    synchronized (OF) {
      OF.computeIfAbsent(query, name -> new HashSet<>()).add(this);
    }
  }

  /** It waits for a partition, which has no record at hand since this time, in ms since 1970. */
  public void waitsFor(String partition, long since) {
    if (wait == null || !wait.partition().equals(partition) || wait.since() != since) {
      wait = new Wait(partition, since);
    }
  }

  /** It waits for none. */
  public void goesOn() {
    wait = null;
  }

  /** It reads no more. */
  public void close() {
    synchronized (OF) {
      Set<Inputs> all = OF.get(query);
      if (all != null && all.remove(this) && all.isEmpty()) {
        OF.remove(query);
      }
    }
  }

  /** {@code {"partition":topic-partition,"since":ms}} of the partition that is waited for longest, null if none is. */
  static Map<String, Object> waiting(String query) {
    Wait longest = null;
    synchronized (OF) {
      for (Inputs each : OF.getOrDefault(query, Set.of())) {
        Wait found = each.wait;
        if (found != null && (longest == null || found.since() < longest.since())) {
          longest = found;
        }
      }
    }
    if (longest == null) {
      return null;
    }
    Map<String, Object> told = new LinkedHashMap<>();
    told.put("partition", longest.partition());
    told.put("since", Long.valueOf(longest.since()));
    return told;
  }

  /** Adds to figures of consumers, by {@code topic-partition}, what is at hand, so many times. */
  static Map<String, Long> added(Map<String, Long> figures, String query, int times) {
    synchronized (OF) {
      for (Inputs each : OF.getOrDefault(query, Set.of())) {
        each.ahead.get().forEach((place, offsets) -> figures.computeIfPresent(place, (name, n) -> n + times * offsets));
      }
    }
    return figures;
  }
}
