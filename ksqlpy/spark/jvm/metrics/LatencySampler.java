package ksqlpy.metrics;

import java.util.function.LongSupplier;

/**
 * The results of one producer, as it adds them to the {@link Latency} of a query: each, as long as fewer than 16 come within
 * a ms. Of more, each 16th counts for 16: to count all results of a backlog took a tenth of its processor time.
 *
 * <p>After such a burst up to 15 results count with the next one, or not at all where none follows. For one thread.
 */
public final class LatencySampler {
  private static final int GROUP = 16;

  private final Latency latency;
  private final LongSupplier clock;
  private int taken;
  private long end;
  private boolean dense;

  public LatencySampler(Latency latency) {
    this(latency, System::currentTimeMillis);
  }

  LatencySampler(Latency latency, LongSupplier clock) {
    this.latency = latency;
    this.clock = clock;
  }

  /** The brokers have taken a result of this event time, in ms since 1970; below 0 without one. */
  public void taken(long eventTime) {
    if (++taken < GROUP && dense) {
      return;
    }
    long now = clock.getAsLong();
    latency.add(eventTime, now, dense ? GROUP : 1);
    if (taken == GROUP) {
      dense = now == end;
      end = now;
      taken = 0;
    }
  }
}
