package ksqlpy.internals;

import ksqlpy.ExpiringStateStoreProvider;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.streaming.runtime.StreamExecution;
import org.apache.spark.sql.execution.streaming.runtime.StreamingQueryWrapper;
import org.apache.spark.sql.streaming.StreamingQueryListener;

/**
 * Lets the real-time queries of a session have the state store {@link ExpiringStateStoreProvider}.
 *
 * <p>Real-time mode wants Spark's own provider of RocksDB state by name, also no class that extends it, and looks at the
 * session's setting when a query is started. The query then has a session of its own; what is set there before its
 * first batch holds. Spark tells listeners of a start at that very moment, and waits for them.
 */
public final class Admission extends StreamingQueryListener {
  private static final long serialVersionUID = 1L;

  private static final String KEY = "spark.sql.streaming.stateStore.providerClass";

  private final SparkSession session;

  private Admission(SparkSession session) {
    this.session = session;
  }

  /** For all queries that this session starts from now on. */
  public static void of(SparkSession session) {
    set(session, "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider");
    session.streams().addListener(new Admission(session));
  }

  @Override
  public void onQueryStarted(QueryStartedEvent event) {
    Object query = session.streams().get(event.id());
    StreamExecution execution = ((StreamingQueryWrapper) query).streamingQuery();
    set(execution.sparkSessionForStream(), ExpiringStateStoreProvider.class.getName());
  }

  private static void set(org.apache.spark.sql.SparkSession session, String provider) {
    session.conf().set(KEY, provider);
  }

  @Override
  public void onQueryProgress(QueryProgressEvent event) {}

  @Override
  public void onQueryTerminated(QueryTerminatedEvent event) {}
}
