package ksqlpy.functions;

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;

/**
 * Counts the rows for which a condition holds, under a name, and passes the condition on: {@code (BOOLEAN) → BOOLEAN},
 * not null. It says that it is not deterministic, so that Spark evaluates it once a row.
 */
public final class Counter implements ScalarFunction<Boolean> {
  private static final long serialVersionUID = 1L;

  private static final ConcurrentHashMap<String, AtomicLong> COUNTS = new ConcurrentHashMap<>();

  private final String counted;

  public Counter(String counted) {
    this.counted = counted;
  }

  /** How many there were since this JVM started. */
  public static long count(String name) {
    AtomicLong found = ((Map<String, AtomicLong>) COUNTS).get(name);
    return found == null ? 0 : found.get();
  }

  /** All counts, by query and by what stands behind the colon: one pass, however many queries there are. */
  public static Map<String, Map<String, Long>> counts() {
    Map<String, Map<String, Long>> found = new HashMap<>();
    COUNTS.forEach((name, count) -> {
      int colon = name.lastIndexOf(':');
      found.computeIfAbsent(name.substring(0, Math.max(0, colon)), query -> new HashMap<>())
          .put(name.substring(colon + 1), Long.valueOf(count.get()));
    });
    return found;
  }

  /** Forgets the counts of a query, whose names begin with its id and a colon. */
  public static void forget(String query) {
    Object[] names = COUNTS.keySet().toArray();
    for (int i = 0; i < names.length; i++) {
      if (((String) names[i]).startsWith(query + ":")) {
        COUNTS.remove(names[i]);
      }
    }
  }

  /** Counts one more. */
  public static void add(String name) {
    AtomicLong found = ((Map<String, AtomicLong>) COUNTS).get(name);
    if (found == null) {
      COUNTS.putIfAbsent(name, new AtomicLong());
      found = ((Map<String, AtomicLong>) COUNTS).get(name);
    }
    found.incrementAndGet();
  }

  public boolean invoke(boolean holds) {
    if (holds) {
      add(counted);
    }
    return holds;
  }

  public DataType[] inputTypes() {
    return new DataType[] {DataTypes.BooleanType};
  }

  public DataType resultType() {
    return DataTypes.BooleanType;
  }

  public boolean isResultNullable() {
    return false;
  }

  public boolean isDeterministic() {
    return false;
  }

  public String name() {
    return "count_rows";
  }

  public String canonicalName() {
    return "ksqlpy.count." + counted;
  }
}
