package ksqlpy.metrics;

import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.HdrHistogram.ConcurrentHistogram;
import org.HdrHistogram.Histogram;

/**
 * How long results of a query took in this JVM: ms from their event time until the brokers had them, as Kafka Streams'
 * {@code record-e2e-latency}. Those of the last one to two minutes count.
 */
public final class Latency {
  /** Ms after which another histogram begins. */
  private static final long SLOT = 60_000;

  /** Ms; what took longer counts as so much. */
  private static final long MOST = 30L * 24 * 60 * 60 * 1000;

  /** Digits that are kept: to 32 ms each value is told from the next, above that it is within 6 %. */
  private static final int DIGITS = 1;

  /** Ms up to which results are counted together, since this JVM started. */
  private static final long[] BOUNDS = {10, 30, 100, 300, 1_000, 3_000, 10_000, 60_000, 600_000};

  private static final Map<String, Latency> OF_QUERIES = new ConcurrentHashMap<>();

  private volatile Histogram current = made();
  private volatile long ends = Long.MIN_VALUE;
  private Histogram before = made();
  private final Histogram past = made();

  private Latency() {}

  private static Histogram made() {
    return new ConcurrentHistogram(1, MOST, DIGITS);
  }

  /** That of a query. */
  public static Latency of(String query) {
    return OF_QUERIES.computeIfAbsent(query, any -> new Latency());
  }

  static void forget(String query) {
    OF_QUERIES.remove(query);
  }

  /**
   * So many results of an event time were taken by the brokers; both in ms since 1970. Without an event time (below 0) they
   * do not count. Any thread may call it.
   */
  public void add(long eventTime, long now, int results) {
    if (eventTime < 0) {
      return;
    }
    if (now >= ends) {
      turn(now);
    }
    current.recordValueWithCount(Math.max(0, Math.min(now - eventTime, MOST)), results);
  }

  private synchronized void turn(long now) {
    if (now < ends) {
      return;
    }
    past.add(before);
    if (now < ends + SLOT) {
      before = current;
    } else {
      past.add(current);
      before = made();
    }
    current = made();
    ends = now + SLOT;
  }

  /** How many results took how many ms, at {@code now}. */
  synchronized Map<Long, Long> counts(long now) {
    if (now >= ends) {
      turn(now);
    }
    Map<Long, Long> found = new HashMap<>();
    addTo(found, before);
    addTo(found, current);
    return found;
  }

  /**
   * Of all results since this JVM started: how many took so many ms at most and more than the bound before, by that bound or
   * {@code more}, and the {@code sum} of their ms. Empty without results.
   */
  synchronized Map<String, Long> totals() {
    Histogram all = past.copy();
    all.add(before.copy());
    all.add(current.copy());
    Map<String, Long> found = new HashMap<>();
    if (all.getTotalCount() > 0) {
      Arrays.stream(BOUNDS).forEach(bound -> found.put(String.valueOf(bound), Long.valueOf(0)));
    }
    all.recordedValues().forEach(value -> {
      long ms = all.lowestEquivalentValue(value.getValueIteratedTo());
      Long results = Long.valueOf(value.getCountAtValueIteratedTo());
      found.merge(bound(ms), results, Long::sum);
      found.merge("sum", Long.valueOf(all.medianEquivalentValue(ms) * results), Long::sum);
    });
    return found;
  }

  private static String bound(long ms) {
    for (long bound : BOUNDS) {
      if (ms <= bound) {
        return String.valueOf(bound);
      }
    }
    return "more";
  }

  private static void addTo(Map<Long, Long> found, Histogram histogram) {
    // Of a copy: what is written meanwhile would end the loop (ConcurrentModificationException).
    histogram.copy().recordedValues().forEach(
        value -> found.merge(
            Long.valueOf(value.getValueIteratedTo()), Long.valueOf(value.getCountAtValueIteratedTo()), Long::sum));
  }

  /** Adds the totals of a query in this JVM to its sums. */
  static void addTotals(String query, Map<String, Long> sums) {
    Latency known = OF_QUERIES.get(query);
    if (known != null) {
      known.totals().forEach((bound, count) -> sums.put("took:" + bound, count));
    }
  }

  /** The counts of a query in this JVM; empty without any. */
  static Map<Long, Long> here(String query) {
    Latency known = OF_QUERIES.get(query);
    return known == null ? Map.of() : known.counts(System.currentTimeMillis());
  }
}
