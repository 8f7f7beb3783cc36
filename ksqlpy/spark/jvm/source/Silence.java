package ksqlpy.source;

import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.common.Metric;
import org.apache.kafka.common.MetricName;

/**
 * Times in which nothing was heard of the brokers: they did not answer, or this task did not ask, as at the end of a
 * batch, which waits for them, too. What producers kept meanwhile comes behind them, one partition after the other: a
 * partition at its end is no sign then that no older record comes. So it is waited for, from the first record on that
 * comes, for as long as nothing was heard, at most {@link #MOST_NANOS}. Not for several threads.
 */
final class Silence {
  /** Shorter ones do not count: on a machine with much to do an answer may take some tenths of a second. */
  private static final long LEAST_NANOS = TimeUnit.MILLISECONDS.toNanos(700);

  private static final long MOST_NANOS = TimeUnit.SECONDS.toNanos(3);

  /** Producers that have nothing by then had nothing. */
  private static final long FORGOTTEN_NANOS = TimeUnit.SECONDS.toNanos(15);

  /** What a wait may take longer than asked for; what is above it is a stop of this JVM. */
  private static final long SLACK_NANOS = TimeUnit.MILLISECONDS.toNanos(200);

  /** How many answers have come; null if the consumer does not tell. */
  private final Metric answers;

  private double answered;
  private long asked = System.nanoTime();
  private long waited = 0;
  /** When the last one ended, by {@link System#nanoTime}; of no meaning if {@link #settles} is 0. */
  private long ended;
  /** For so long partitions are waited for; 0: for none. */
  private long settles = 0;
  /** When a record was there first behind it; 0: not yet. */
  private long first;

  Silence(Consumer<?, ?> consumer) {
    Metric found = null;
    for (Map.Entry<MetricName, ? extends Metric> each : consumer.metrics().entrySet()) {
      MetricName name = each.getKey();
      if (name.name().equals("response-total") && name.group().equals("consumer-metrics")) {
        found = each.getValue();
      }
    }
    this.answers = found;
    this.answered = count();
  }

  private double count() {
    return answers == null ? 0 : ((Number) answers.metricValue()).doubleValue();
  }

  /** The brokers were asked from {@code begin} on, for {@code nanos} at most. */
  void asked(long begin, long nanos) {
    if (answers == null) {
      return;
    }
    if (begin - asked >= LEAST_NANOS) {
      waited += Math.min(begin - asked, MOST_NANOS);
    }
    asked = System.nanoTime();
    double now = count();
    if (now == answered) {
      waited += Math.min(asked - begin, nanos + SLACK_NANOS);
      return;
    }
    if (waited >= LEAST_NANOS) {
      settles = Math.min(waited, MOST_NANOS);
      ended = begin;
      first = 0;
    }
    waited = 0;
    answered = now;
  }

  /** Whether a partition at its end may be behind: its producers may not have been heard yet. */
  boolean isUnsure() {
    return waited >= LEAST_NANOS || isOpen() && System.nanoTime() - ended < settles;
  }

  /** Whether partitions may have to be waited for. */
  boolean isOpen() {
    if (settles > 0 && System.nanoTime() - ended > FORGOTTEN_NANOS) {
      settles = 0;
    }
    return settles > 0;
  }

  /** Whether what came last of a partition, at this moment, came before. */
  boolean isBehind(long arrived) {
    return arrived - ended < 0;
  }

  /** Whether a record that is there waits for partitions that are behind. */
  boolean holds() {
    long now = System.nanoTime();
    first = first == 0 ? now : first;
    if (now - first >= settles) {
      settles = 0;
    }
    return settles > 0;
  }

  /** No partition is behind. */
  void isOver() {
    settles = 0;
  }
}
