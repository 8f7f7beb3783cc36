package ksqlpy.metrics;

import java.lang.ref.WeakReference;
import java.time.Instant;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.sql.streaming.StateOperatorProgress;
import org.apache.spark.sql.streaming.StreamingQuery;
import org.apache.spark.sql.streaming.StreamingQueryProgress;

/** The last batch of each query that runs, as Spark tells it. */
public final class Batches {
  private static final Map<String, Batches> OF = new ConcurrentHashMap<>();

  private final WeakReference<StreamingQuery> running;
  private StreamingQueryProgress done;
  private Map<String, Object> told;

  private Batches(StreamingQuery running) {
    this.running = new WeakReference<>(running);
  }

  /** Spark has begun to run a query. */
  public static void follow(String query, StreamingQuery running) {
    OF.put(query, new Batches(running));
  }

  static Set<String> queries() {
    return OF.keySet();
  }

  static void forget(String query) {
    OF.remove(query);
  }

  /** {@code committed}: in ms since 1970, {@code state}: bytes of its files; null before its first batch has ended. */
  static Map<String, Object> last(String query) {
    Batches known = OF.get(query);
    return known == null ? null : known.last();
  }

  private synchronized Map<String, Object> last() {
    StreamingQuery known = running.get();
    StreamingQueryProgress last = known == null ? null : known.lastProgress();
    if (last == null || last != done) { // else it was read before
      done = last;
      told = last == null ? null : read(last);
    }
    return told;
  }

  private static Map<String, Object> read(StreamingQueryProgress done) {
    Long took = done.durationMs().get("triggerExecution");
    long state = 0;
    for (StateOperatorProgress of : done.stateOperators()) {
      Long bytes = of.customMetrics().get("rocksdbSstFileSize");
      state += bytes == null ? 0 : bytes.longValue();
    }
    Map<String, Object> found = new HashMap<>();
    found.put("committed", Long.valueOf(Instant.parse(done.timestamp()).toEpochMilli() + (took == null ? 0 : took)));
    found.put("state", Long.valueOf(state));
    return found;
  }
}
