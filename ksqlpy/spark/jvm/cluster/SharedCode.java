package ksqlpy.cluster;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The generated code that executors have compiled, kept by the driver for those that come: a new executor compiles it
 * before it gets tasks.
 */
final class SharedCode {
  private SharedCode() {}

  private static final int KEPT = 400;

  /** Texts in one answer. */
  private static final int AT_ONCE = 10;

  /** Text by name, those that were named last at the end; null until an executor has sent the text. */
  private static final LinkedHashMap<String, String> TEXTS = new LinkedHashMap<>(64, 0.75f, true);

  /** What executors that are held back were given. */
  private static final Map<String, Map<String, Boolean>> GIVEN = new HashMap<>();

  static synchronized void begin() {
    TEXTS.clear();
    GIVEN.clear();
  }

  /** Takes names and texts of code, and asks for texts that are not known. */
  static synchronized void take(JsonNode report, ObjectNode answer) {
    report.get("texts").properties().forEach(text -> TEXTS.put(text.getKey(), text.getValue().asText()));
    ArrayNode tell = answer.putArray("tell");
    for (JsonNode name : report.get("names")) {
      if (TEXTS.get(name.asText()) == null) {
        TEXTS.put(name.asText(), null);
        tell.add(name);
      }
    }
    for (Iterator<String> oldest = TEXTS.keySet().iterator(); TEXTS.size() > KEPT; ) {
      oldest.next();
      oldest.remove();
    }
  }

  /** Gives an executor some of what it was not given yet; whether there was any. */
  static synchronized boolean give(String executor, ObjectNode compile) {
    Map<String, Boolean> given = GIVEN.computeIfAbsent(executor, any -> new HashMap<>());
    for (Map.Entry<String, String> text : TEXTS.entrySet()) {
      if (compile.size() == AT_ONCE) {
        break;
      }
      if (text.getValue() != null && given.put(text.getKey(), Boolean.TRUE) == null) {
        compile.put(text.getKey(), text.getValue());
      }
    }
    return !compile.isEmpty();
  }

  /** It is held back no longer. */
  static synchronized void forget(String executor) {
    GIVEN.remove(executor);
  }
}
