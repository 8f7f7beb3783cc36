package ksqlpy.metrics;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Latencies of the last one to two minutes, also of several JVMs together. */
final class LatencyTest {
  private static final long NOON = 1_800_000_000_000L;
  private static final long MINUTE = 60_000;

  private static void add(Latency to, int times, long ms, long now) {
    to.add(now - ms, now, times);
  }

  @Test
  void percentiles() {
    Latency latency = Latency.of("percentiles");
    add(latency, 97, 4, NOON);
    add(latency, 3, 20, NOON);
    assertEquals(Map.of("p50", 4L, "p99", 20L, "max", 20L), Latency.summary(latency.counts(NOON)));
  }

  @Test
  void resultsWithoutAnEventTimeDoNotCount() {
    Latency latency = Latency.of("timeless");
    latency.add(-1, NOON, 1);
    assertEquals(Map.of(), latency.counts(NOON));
  }

  @Test
  void noResultsHaveNone() {
    assertNull(Latency.summary(Latency.of("none").counts(NOON)));
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
    long max = Latency.summary(latency.counts(NOON)).get("max").longValue();
    assertTrue(max >= 1000 && max <= 1060, "max " + max);
    add(latency, 1, NOON, NOON); // an event time of 1970
    assertTrue(Latency.summary(latency.counts(NOON)).get("max").longValue() > 2_500_000_000L);
  }

  @Test
  void severalAreSummedByWhatTheyReport() throws Exception {
    Latency one = Latency.of("one");
    Latency other = Latency.of("other");
    add(one, 60, 1, NOON);
    add(other, 40, 900, NOON);
    ObjectMapper mapper = new ObjectMapper();
    Map<Long, Long> both = new HashMap<>(one.counts(NOON));
    Latency.add(both, mapper.readTree(mapper.writeValueAsString(other.counts(NOON))));
    Latency.add(both, null);
    Map<String, Long> summary = Latency.summary(both);
    assertEquals(1L, summary.get("p50").longValue());
    assertTrue(summary.get("p99").longValue() >= 900, summary.toString());
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
    }
    task.interrupt();
    task.join();
    assertTrue(latency.counts(NOON).size() > 1);
  }
}
