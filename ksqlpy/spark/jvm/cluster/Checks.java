package ksqlpy.cluster;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import ksqlpy.internals.Executors;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/**
 * What an executor tries because the driver wants to know whether it can: {@code read URI}, a file that the driver has
 * written; {@code connect HOST:PORT}, another executor.
 */
final class Checks {
  private Checks() {}

  private static final int PATIENCE = 5000;

  /** By what is tried: empty when it went well, else why not. */
  private static final Map<String, String> DONE = new ConcurrentHashMap<>();

  private static final Map<String, Boolean> BEGUN = new ConcurrentHashMap<>();

  static Map<String, String> done() {
    return Map.copyOf(DONE);
  }

  /** Begins those that are new, and forgets those that nobody wants any more. */
  static void wanted(JsonNode checks) {
    Set<String> all = new HashSet<>();
    checks.forEach(check -> all.add(check.asText()));
    DONE.keySet().retainAll(all);
    BEGUN.keySet().retainAll(all);
    for (String check : all) {
      if (BEGUN.putIfAbsent(check, Boolean.TRUE) == null) {
        Thread thread = new Thread(() -> DONE.put(check, tried(check)), "ksqlpy check");
        thread.setDaemon(true);
        thread.setContextClassLoader(Thread.currentThread().getContextClassLoader());
        thread.start();
      }
    }
  }

  private static String tried(String check) {
    int space = check.indexOf(' ');
    String what = check.substring(space + 1);
    try {
      if (check.startsWith("read ")) {
        Path path = new Path(what);
        FileSystem files = path.getFileSystem(Executors.files());
        files.open(path).close();
      } else {
        connect(what);
      }
      return "";
    } catch (Exception e) {
      return String.valueOf(e.getMessage() == null ? e : e.getMessage());
    }
  }

  private static void connect(String address) throws IOException {
    int colon = address.lastIndexOf(':');
    String host = address.substring(0, colon).replace("[", "").replace("]", "");
    try (Socket socket = new Socket()) {
      socket.connect(new InetSocketAddress(host, Integer.parseInt(address.substring(colon + 1))), PATIENCE);
    }
  }
}
