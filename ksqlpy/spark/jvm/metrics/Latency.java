package ksqlpy.metrics;

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

  private static final Map<String, Latency> OF_QUERIES = new ConcurrentHashMap<>();

  private volatile Histogram current = made();
  private volatile long ends = Long.MIN_VALUE;
  private Histogram before = made();

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
    before = now < ends + SLOT ? current : made();
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

  private static void addTo(Map<Long, Long> found, Histogram histogram) {
    // Of a copy: what is written meanwhile would end the loop (ConcurrentModificationException).
    histogram.copy().recordedValues().forEach(
        value -> found.merge(
            Long.valueOf(value.getValueIteratedTo()), Long.valueOf(value.getCountAtValueIteratedTo()), Long::sum));
  }

  /** The counts of a query in this JVM; empty without any. */
  static Map<Long, Long> here(String query) {
    Latency known = OF_QUERIES.get(query);
    return known == null ? Map.of() : known.counts(System.currentTimeMillis());
  }
}
