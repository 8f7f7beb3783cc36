package ksqlpy.metrics;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Map;
import org.junit.jupiter.api.Test;

/** Few results count each, many within a ms in groups. */
final class LatencySamplerTest {
  private static final long NOON = 1_800_000_000_000L;

  private long now = NOON;

  private LatencySampler sampler(Latency latency) {
    return new LatencySampler(latency, () -> now);
  }

  private static long total(Map<Long, Long> counts) {
    return counts.values().stream().mapToLong(Long::longValue).sum();
  }

  @Test
  void oneResultEachMillisecondCountsEach() {
    Latency latency = Latency.of("each");
    LatencySampler sampler = sampler(latency);
    for (int i = 0; i < 100; i++, now++) {
      sampler.taken(now - (i == 50 ? 9 : 3));
    }
    assertEquals(Map.of(3L, 99L, 9L, 1L), latency.counts(now));
  }

  @Test
  void aFewWithinOneMillisecondCountEach() {
    Latency latency = Latency.of("few");
    LatencySampler sampler = sampler(latency);
    for (int i = 0; i < 15; i++) {
      sampler.taken(now - i);
    }
    assertEquals(15, latency.counts(now).size());
  }

  @Test
  void ofManyEachSixteenthCountsForSixteen() {
    Latency latency = Latency.of("many");
    LatencySampler sampler = sampler(latency);
    for (int i = 0; i < 16_000; i++) {
      sampler.taken(now - (i < 8_000 ? 4 : 20));
    }
    Map<Long, Long> counts = latency.counts(now);
    assertEquals(8_000L, counts.get(4L).longValue());
    assertEquals(8_000L, counts.get(20L).longValue());
  }

  @Test
  void afterManyFewCountEachAgain() {
    Latency latency = Latency.of("after");
    LatencySampler sampler = sampler(latency);
    for (int i = 0; i < 1_000; i++) {
      sampler.taken(now - 4);
    }
    for (int i = 0; i < 100; i++) {
      now += 10;
      sampler.taken(now - 2);
    }
    Map<Long, Long> counts = latency.counts(now);
    assertTrue(counts.get(2L).longValue() >= 85, counts.toString());
    assertTrue(Math.abs(total(counts) - 1_100) <= 15, counts.toString());
  }
}
