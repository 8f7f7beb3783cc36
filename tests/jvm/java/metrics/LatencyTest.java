package ksqlpy.metrics;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Latencies of the last one to two minutes. */
final class LatencyTest {
  private static final long NOON = 1_800_000_000_000L;
  private static final long MINUTE = 60_000;

  private static void add(Latency to, int times, long ms, long now) {
    to.add(now - ms, now, times);
  }

  @Test
  void resultsWithoutAnEventTimeDoNotCount() {
    Latency latency = Latency.of("timeless");
    latency.add(-1, NOON, 1);
    assertEquals(Map.of(), latency.counts(NOON));
  }

  @Test
  void noResultsHaveNone() {
    assertEquals(Map.of(), Latency.of("none").counts(NOON));
    assertEquals(Map.of(), Latency.here("never named"));
  }

  @Test
  void oldResultsDoNotCount() {
    Latency latency = Latency.of("old");
    add(latency, 10, 7, NOON);
    add(latency, 1, 2, NOON + MINUTE);
    assertEquals(Map.of(7L, 10L, 2L, 1L), latency.counts(NOON + MINUTE));
    assertEquals(Map.of(2L, 1L), latency.counts(NOON + 2 * MINUTE));
    assertEquals(Map.of(), latency.counts(NOON + 4 * MINUTE));
  }

  @Test
  void timesAheadOfTheClockAreZeroAndOldOnesAreWithinSixPercent() {
    Latency latency = Latency.of("extremes");
    add(latency, 1, -500, NOON);
    assertEquals(Map.of(0L, 1L), latency.counts(NOON));
    add(latency, 1, 1000, NOON);
    long most = most(latency);
    assertTrue(most >= 1000 && most <= 1060, "most " + most);
    add(latency, 1, NOON, NOON); // an event time of 1970
    assertTrue(most(latency) > 2_500_000_000L);
  }

  private static long most(Latency latency) {
    return latency.counts(NOON).keySet().stream().max(Long::compare).orElseThrow().longValue();
  }

  @Test
  void totalsAreOfAllResults() {
    Latency latency = Latency.of("totals");
    assertEquals(Map.of(), latency.totals());
    add(latency, 3, 10, NOON);
    add(latency, 2, 11, NOON + MINUTE);
    add(latency, 1, 100, NOON + 2 * MINUTE);
    add(latency, 1, 700_000, NOON + 9 * MINUTE);
    Map<String, Long> totals = new HashMap<>(latency.totals());
    long sum = totals.remove("sum").longValue();
    totals.values().removeIf(count -> count.longValue() == 0);
    assertEquals(Map.of("10", 3L, "30", 2L, "100", 1L, "more", 1L), totals);
    assertTrue(sum > 700_152 * 0.94 && sum < 700_152 * 1.06, "sum " + sum);
    assertEquals(Map.of(), latency.counts(NOON + 20 * MINUTE));
    assertEquals(11, latency.totals().size());
    Map<String, Long> sums = new HashMap<>(Map.of("late", 5L));
    Latency.addTotals("totals", sums);
    Latency.addTotals("never named", sums);
    assertEquals(12, sums.size());
    assertEquals(3L, sums.get("took:10").longValue());
  }

  @Test
  void itIsReadWhileTasksAddToIt() throws InterruptedException {
    Latency latency = Latency.of("busy");
    Thread task = new Thread(() -> {
      for (long i = 0; !Thread.interrupted(); i++) {
        latency.add(NOON - i % 5000, NOON, 1);
      }
    });
    task.start();
    for (int i = 0; i < 1000; i++) {
      latency.counts(NOON);
      latency.totals();
    }
    task.interrupt();
    task.join();
    assertTrue(latency.counts(NOON).size() > 1);
  }
}
