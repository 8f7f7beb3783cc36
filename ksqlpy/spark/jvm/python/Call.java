package ksqlpy.python;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.spark.sql.catalyst.InternalRow;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A function in Python, or a method of an aggregate, as this JVM calls it: what {@code Definition.to_call} describes. Equal
 * descriptions are one.
 */
public final class Call {
  /** For {@link #askOr}: what no function gives. */
  public static final Object FAILED = new Object();

  private static final Logger LOG = LoggerFactory.getLogger(Call.class);
  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final ConcurrentHashMap<String, Call> KNOWN = new ConcurrentHashMap<>();
  private static final AtomicInteger NEXT = new AtomicInteger();

  /** Ns for which a function that could not be loaded is not tried again; as long as it took, if that was longer. */
  private static final long AGAIN = 1_000_000_000L;

  /** Its number, by which the workers of this JVM know it. */
  final int id;

  public final String name;
  public final PythonType[] takes;
  public final PythonType gives;
  final boolean deterministic;
  final String onError;
  final long limit; // ns
  final byte[] described;

  private volatile CallFailed notLoaded;
  private volatile long notBefore;

  private Call(int id, JsonNode spec) {
    this.id = id;
    name = spec.path("name").asText();
    JsonNode types = spec.path("takes");
    takes = new PythonType[types.size()];
    for (int i = 0; i < takes.length; i++) {
      takes[i] = PythonType.of(types.get(i));
    }
    gives = PythonType.of(spec.path("gives"));
    deterministic = spec.path("deterministic").asBoolean();
    onError = spec.path("on_error").asText();
    limit = spec.path("timeout_ms").asLong() * 1_000_000L;
    try {
      described = MAPPER.writeValueAsBytes(((ObjectNode) spec).put("id", id));
    } catch (JsonProcessingException e) {
      throw new IllegalArgumentException(e.getOriginalMessage());
    }
  }

  /** {@code spec}: JSON. Throws IllegalArgumentException for what describes no call. */
  public static Call of(String spec) {
    return KNOWN.computeIfAbsent(spec, text -> {
      try {
        return new Call(NEXT.getAndIncrement(), MAPPER.readTree(text));
      } catch (JsonProcessingException e) {
        throw new IllegalArgumentException(e.getOriginalMessage());
      }
    });
  }

  /** The JSON of a description as {@link #of} takes it: equal ones are equal texts. */
  public static String normal(String spec) {
    try {
      return MAPPER.readTree(spec).toString();
    } catch (JsonProcessingException e) {
      throw new IllegalArgumentException(e.getOriginalMessage());
    }
  }

  /** Has a worker load it, in a thread of its own: then its first call does not wait for Python's start and its imports. */
  public static void loadSoon(String spec) {
    Call call = of(normal(spec));
    Thread thread = new Thread(() -> {
      try {
        call.ask(null);
      } catch (CallFailed | Unasked e) {
        LOG.debug("{} is not loaded: its first call will tell", call.name, e);
      }
    }, "python load");
    thread.setDaemon(true);
    thread.start();
  }

  /**
   * What the function gives, as Spark holds it; {@code arguments}: its own, and further ones that are left out; null: it
   * is loaded only. Throws CallFailed where it gives nothing.
   */
  public Object ask(InternalRow arguments) {
    return Workers.here().ask(this, arguments);
  }

  /**
   * The same; a call that fails is counted, and has the other value where ON_ERROR does not end the query. Then it throws
   * {@link Stopped}. One whose row becomes a dead letter is counted as that.
   */
  public Object askOr(Object otherwise, InternalRow arguments) {
    try {
      return ask(arguments);
    } catch (CallFailed e) {
      failed(e);
      return otherwise;
    }
  }

  /** What becomes of a call that has failed: see {@link #askOr}. */
  void failed(CallFailed why) {
    boolean letter = onError.equals(Letters.DEAD_LETTER) && Letters.take(this, why);
    Failures.failed(this, why, letter);
    if (onError.equals("stop")) {
      throw new Stopped(this, why);
    }
  }

  /** Throws CallFailed where it could not be loaded a moment ago. */
  void checkLoaded() {
    CallFailed known = notLoaded;
    if (known != null && System.nanoTime() - notBefore < 0) {
      throw known;
    }
  }

  /** It could not be loaded, which took so many ns. */
  void notLoaded(CallFailed why, long took) {
    notBefore = System.nanoTime() + Math.max(AGAIN, took);
    notLoaded = why;
  }
}
