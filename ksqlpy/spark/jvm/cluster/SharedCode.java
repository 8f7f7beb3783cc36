package ksqlpy.cluster;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;

/**
 * The generated code that executors have compiled, kept by the driver for those that come, and in {@link CodeFiles} for
 * the driver after it: they need not compile it.
 */
final class SharedCode {
  private SharedCode() {}

  private static final int KEPT = 400;

  /** Codes in one answer. */
  private static final int AT_ONCE = 50;

  /** Packed code by name, those that were named last at the end; null until an executor has sent it. */
  private static final LinkedHashMap<String, byte[]> CODES = new LinkedHashMap<>(64, 0.75f, true);

  /** What each executor has. */
  private static final Map<String, Set<String>> GIVEN = new HashMap<>();

  private static CodeFiles files;

  /** {@code folder}: of the code of drivers before this one, null where none is kept. */
  static synchronized void begin(String folder) {
    CODES.clear();
    GIVEN.clear();
    files = new CodeFiles(folder);
    CODES.putAll(files.read(KEPT));
  }

  /** Takes names and codes, forgets what is damaged, and asks for codes that are not known. */
  static synchronized void take(JsonNode report, ObjectNode answer) throws IOException {
    for (JsonNode name : report.get("damaged")) {
      CODES.remove(name.asText());
      files.remove(name.asText());
    }
    for (Map.Entry<String, JsonNode> code : report.get("codes").properties()) {
      byte[] packed = code.getValue().binaryValue();
      CODES.put(code.getKey(), packed);
      files.write(code.getKey(), packed);
    }
    Set<String> given = GIVEN.computeIfAbsent(report.get("executor").asText(), any -> new HashSet<>());
    ArrayNode tell = answer.putArray("tell");
    for (JsonNode name : report.get("names")) {
      given.add(name.asText());
      if (CODES.get(name.asText()) == null) {
        CODES.put(name.asText(), null);
        tell.add(name);
      }
    }
    for (Iterator<String> oldest = CODES.keySet().iterator(); CODES.size() > KEPT; ) {
      files.remove(oldest.next());
      oldest.remove();
    }
  }

  /** Gives an executor some of what it has not; whether there was any. */
  static synchronized boolean give(String executor, ObjectNode codes) {
    Set<String> given = GIVEN.computeIfAbsent(executor, any -> new HashSet<>());
    for (Map.Entry<String, byte[]> code : CODES.entrySet()) {
      if (codes.size() == AT_ONCE) {
        break;
      }
      if (code.getValue() != null && given.add(code.getKey())) {
        codes.put(code.getKey(), code.getValue());
      }
    }
    return !codes.isEmpty();
  }

  /** It is gone. */
  static synchronized void forget(String executor) {
    GIVEN.remove(executor);
  }
}
