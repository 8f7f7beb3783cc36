package ksqlpy.sink;

import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import ksqlpy.tasks.ToDriver;
import org.apache.spark.TaskContext;

/**
 * Who may write results from this executor: before the first result of a query's life its producer is noted by the
 * engine, which knows then whom the brokers have to refuse when the query's next life begins.
 */
public final class Writers {
  private Writers() {}

  /** Properties of the thread that starts a query, which its tasks have: on a cluster only. */
  public static final String LIFE = "ksqlpy.life";

  public static final String OPTIONS = "ksqlpy.sink";

  /** Answers of the engine to a wish; others say why not. */
  public static final String WAIT = "wait";

  public static final String GRANTED = "granted";

  /**
   * Ns for which a producer waits for its id, or for the engine's answer, until the query fails and is started again. On one
   * machine the engine waits as long for the id, see ksqlpy/spark/writers.py.
   */
  private static final long PATIENCE = 130_000_000_000L;

  private static final String QUERY = "ksqlpy.query";
  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final Map<String, Object> LOCKS = new ConcurrentHashMap<>();
  private static final Map<String, Boolean> ADMITTED = new ConcurrentHashMap<>();

  /** Returns when this task may write; throws IllegalStateException where the query's life is over, or it takes too long. */
  public static void admit() {
    TaskContext task = TaskContext.get();
    String life = task == null ? null : task.getLocalProperty(LIFE);
    if (life == null || ADMITTED.containsKey(life)) {
      return;
    }
    synchronized (LOCKS.computeIfAbsent(life, any -> new Object())) {
      if (!ADMITTED.containsKey(life)) {
        ask(task, life);
        ADMITTED.put(life, Boolean.TRUE);
      }
    }
  }

  private static void ask(TaskContext task, String life) {
    String query = task.getLocalProperty(QUERY);
    try {
      Map<String, String> options =
          MAPPER.readValue(task.getLocalProperty(OPTIONS), new TypeReference<Map<String, String>>() {});
      long end = System.nanoTime() + PATIENCE;
      long id = SinkProducers.hold(life, options);
      while (id < 0) {
        rest(task, end, "the brokers do not give its producer an id");
        id = SinkProducers.hold(life, options);
      }
      String answer = ToDriver.ask(wish(query, life, id));
      while (answer.equals(WAIT)) {
        rest(task, end, "the server does not admit its producer");
        answer = ToDriver.ask(wish(query, life, id));
      }
      if (!answer.equals(GRANTED)) {
        SinkProducers.release(life);
        throw new IllegalStateException("query " + query + " must not write from this executor: " + answer);
      }
    } catch (RuntimeException e) {
      throw e;
    } catch (Exception e) {
      throw new IllegalStateException("query " + query + " cannot ask whether it may write: " + e, e);
    }
  }

  private static Map<String, Object> wish(String query, String life, long id) {
    Map<String, Object> wish = new HashMap<>();
    wish.put("query", query);
    wish.put("life", life);
    wish.put("jvm", SinkProducers.JVM);
    wish.put("producer", Long.valueOf(id));
    return wish;
  }

  private static void rest(TaskContext task, long end, String why) throws InterruptedException {
    if (task.isInterrupted()) {
      throw new InterruptedException("the task is to end");
    }
    if (System.nanoTime() > end) {
      throw new IllegalStateException("query " + task.getLocalProperty(QUERY) + " cannot write: " + why);
    }
    Thread.sleep(5);
  }
}
