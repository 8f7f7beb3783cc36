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

  private static final String[] NAMES = Arrays.stream(BOUNDS).mapToObj(String::valueOf).toArray(String[]::new);

  /** Where the counts of what took longer than all bounds stand, and their sum. */
  private static final int MORE = BOUNDS.length;

  private static final int SUM = MORE + 1;

  private static final Map<String, Latency> OF_QUERIES = new ConcurrentHashMap<>();

  private volatile Histogram current = made();
  private volatile long ends = Long.MIN_VALUE;
  private Totals now = new Totals(current);
  private Totals last = new Totals(made());

  /** Of the slots ahead of {@link #last}. */
  private final long[] past = new long[SUM + 1];

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

  private synchronized void turn(long time) {
    if (time < ends) {
      return;
    }
    add(past, last.counts());
    if (time < ends + SLOT) {
      last = now;
    } else {
      add(past, now.counts());
      last = new Totals(made());
    }
    current = made();
    now = new Totals(current);
    ends = time + SLOT;
  }

  /** How many results took how many ms, at {@code time}. */
  synchronized Map<Long, Long> counts(long time) {
    if (time >= ends) {
      turn(time);
    }
    Map<Long, Long> found = new HashMap<>();
    addTo(found, last.of);
    addTo(found, current);
    return found;
  }

  /**
   * Of all results since this JVM started: how many took so many ms at most and more than the bound before, by that bound or
   * {@code more}, and the {@code sum} of their ms. Empty without results.
   */
  synchronized Map<String, Long> totals() {
    long[] all = past.clone();
    add(all, last.counts());
    add(all, now.counts());
    Map<String, Long> found = new HashMap<>();
    if (Arrays.stream(all, 0, SUM).anyMatch(count -> count > 0)) {
      for (int i = 0; i < BOUNDS.length; i++) {
        found.put(NAMES[i], Long.valueOf(all[i]));
      }
      if (all[MORE] > 0) {
        found.put("more", Long.valueOf(all[MORE]));
      }
      found.put("sum", Long.valueOf(all[SUM]));
    }
    return found;
  }

  private static void add(long[] to, long[] counts) {
    Arrays.setAll(to, i -> to[i] + counts[i]);
  }

  /** The counts of a histogram by their bounds, and behind them the sum; they are made again once it has changed. */
  private static final class Totals {
    final Histogram of;
    private long[] counts = new long[SUM + 1];
    private long results;

    Totals(Histogram of) {
      this.of = of;
    }

    long[] counts() {
      if (of.getTotalCount() == results) {
        return counts;
      }
      // Of a copy: what is written meanwhile would end the loop (ConcurrentModificationException).
      Histogram copy = of.copy();
      long[] found = new long[SUM + 1];
      copy.recordedValues().forEach(value -> {
        long ms = copy.lowestEquivalentValue(value.getValueIteratedTo());
        long count = value.getCountAtValueIteratedTo();
        found[place(ms)] += count;
        found[SUM] += copy.medianEquivalentValue(ms) * count;
      });
      counts = found;
      results = copy.getTotalCount();
      return counts;
    }

    private static int place(long ms) {
      int place = 0;
      while (place < MORE && ms > BOUNDS[place]) {
        place++;
      }
      return place;
    }
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
