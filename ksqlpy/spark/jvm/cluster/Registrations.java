package ksqlpy.cluster;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import ksqlpy.sink.Writers;

/**
 * Producers of executors that ask whether they may write. The engine notes each in its register first, so that a later
 * life of the query can have the brokers refuse it.
 *
 * <p>An executor asks again until it has an answer: nobody waits in Spark's own threads.
 */
public final class Registrations {
  private Registrations() {}

  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final Map<String, JsonNode> ASKED = new LinkedHashMap<>();
  private static final Map<String, String> ANSWERS = new HashMap<>();

  /** {@code granted}, {@code wait}, or why it must not write. */
  static String ask(JsonNode wish) {
    String key = wish.get("jvm").asText() + "/" + wish.get("life").asText();
    synchronized (ASKED) {
      String answer = ANSWERS.remove(key);
      if (answer != null) {
        return answer;
      }
      if (ASKED.put(key, wish) == null) {
        ASKED.notifyAll();
      }
      return Writers.WAIT;
    }
  }

  /** For the engine: the wishes that are not answered, as a JSON array; waits for the first so many ms. */
  public static String take(long patience) throws InterruptedException, JsonProcessingException {
    synchronized (ASKED) {
      if (ASKED.isEmpty()) {
        ASKED.wait(patience);
      }
      List<JsonNode> found = new ArrayList<>(ASKED.values());
      return MAPPER.writeValueAsString(found);
    }
  }

  /** The engine's answer: null grants it, else it says why not. */
  public static void answer(String jvm, String life, String refused) {
    String key = jvm + "/" + life;
    synchronized (ASKED) {
      ASKED.remove(key);
      ANSWERS.put(key, refused == null ? Writers.GRANTED : refused);
    }
  }
}
