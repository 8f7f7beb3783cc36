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
  private static final Map<String, WeakReference<StreamingQuery>> OF = new ConcurrentHashMap<>();

  private Batches() {}

  /** Spark has begun to run a query. */
  public static void follow(String query, StreamingQuery running) {
    OF.put(query, new WeakReference<>(running));
  }

  static Set<String> queries() {
    return OF.keySet();
  }

  static void forget(String query) {
    OF.remove(query);
  }

  /** {@code committed}: in ms since 1970, {@code state}: bytes of its files; null before its first batch has ended. */
  static Map<String, Object> last(String query) {
    WeakReference<StreamingQuery> known = OF.get(query);
    StreamingQuery running = known == null ? null : known.get();
    StreamingQueryProgress done = running == null ? null : running.lastProgress();
    if (done == null) {
      return null;
    }
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
