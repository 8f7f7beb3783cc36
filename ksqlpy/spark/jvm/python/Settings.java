package ksqlpy.python;

import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.SparkEnv;

/** The properties {@code ksqlpy.functions.python.*} as this JVM has them: by Spark's settings, on executors too. */
final class Settings {
  private static final String PREFIX = "ksqlpy.functions.python.";

  private Settings() {}

  static Settings here() {
    return new Settings();
  }

  private static String of(String name, String otherwise) {
    SparkEnv spark = SparkEnv.get();
    String given = spark == null ? null : spark.conf().get("spark." + PREFIX + name, null);
    String found = given == null ? System.getProperty(PREFIX + name) : given;
    return found == null || found.isBlank() ? otherwise : found;
  }

  String executable() {
    return of("executable", "python3");
  }

  /** How many calls may run at once. */
  int workers() {
    int given = Integer.parseInt(of("workers", "0"));
    return given > 0 ? given : Math.max(2, Runtime.getRuntime().availableProcessors());
  }

  /** As {@code worker.py} takes them. */
  Map<String, Object> forWorkers(String socket, String token) {
    String path = of("path", "");
    Map<String, Object> all = new LinkedHashMap<>();
    all.put("socket", socket);
    all.put("token", token);
    all.put("memory", Long.valueOf(of("memory", "1073741824")));
    all.put("user", of("user", ""));
    all.put("path", path.isEmpty() ? List.of() : Arrays.asList(path.split(":")));
    return all;
  }
}
