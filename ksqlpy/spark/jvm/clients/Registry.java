package ksqlpy.clients;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.TaskContext;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The schemas of the schema registry by their ids, which are fetched once each. The engine tells this JVM where the
 * registry is; executors get that with their tasks, as {@link Connections} says.
 *
 * <p>Where it does not answer, whoever asks waits until it does: a record is not unreadable for that.
 */
public final class Registry {
  /** The property of tasks with the settings as JSON. Spark redacts by the word secret. */
  public static final String PROPERTY = Connections.PROPERTY + "registry";

  private static final Logger LOG = LoggerFactory.getLogger(Registry.class);
  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final int NO_SCHEMA = 40403;
  private static final Set<Integer> NO_VERSION = Set.of(40401, 40402); // no such subject, no such version
  private static final int MOST_LEVELS = 32; // of schemas that refer to each other
  private static final int MOST_REFERENCES = 1000;
  private static final long FIRST_WAIT = 100;
  private static final long LONGEST_WAIT = 5000;
  private static final int MOST_UNKNOWN = 10000;
  private static final long UNKNOWN_FOR = 2_000_000_000L; // ns; a flood of wrong ids is no flood of requests

  private static volatile Registry current;

  private final String settings;
  private final JsonNode urls;
  private final String login;
  private final HttpClient client;
  private final Map<Integer, Found> known = new ConcurrentHashMap<>();
  private final Map<Integer, Unknown> unknown = new ConcurrentHashMap<>();

  /** What an id stands for: a schema of some kind, or why there is none. */
  public static final class Found {
    public final String text;
    /** The texts of the schemas that it refers to, each behind those that it refers to itself. */
    public final List<String> references;

    private final String kind;

    private Found(String kind, String text, List<String> references) {
      this.kind = kind;
      this.text = text;
      this.references = references;
    }
  }

  /** Why there is no schema of an id, or not all that it refers to; after some time it is asked for again. */
  private record Unknown(String problem, long since) {}

  private Registry(String settings) throws IOException, GeneralSecurityException {
    JsonNode described = MAPPER.readTree(settings);
    this.settings = settings;
    this.urls = described.get("urls");
    this.login = described.path("login").asText();
    HttpClient.Builder builder =
        HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).connectTimeout(Duration.ofSeconds(5));
    Map<String, String> tls = new LinkedHashMap<>();
    described.path("tls").properties().forEach(one -> tls.put(one.getKey(), one.getValue().asText()));
    if (!tls.isEmpty()) {
      builder.sslContext(Tls.context(tls));
    }
    this.client = builder.build();
  }

  /**
   * Knows the registry from now on; what is known of the same one stays. Returns null, or what there is against its
   * settings of TLS.
   */
  public static synchronized String keep(String settings) throws IOException {
    Registry now = current;
    if (now == null || !now.settings.equals(settings)) {
      try {
        current = new Registry(settings);
      } catch (GeneralSecurityException | RuntimeException e) {
        return e.getCause() == null ? e.toString() : e + ": " + e.getCause();
      }
    }
    return null;
  }

  /**
   * The schema of an id, of kind AVRO, JSON or PROTOBUF; waits for as long as the registry does not answer, or the task is not
   * ended. Throws NoSuchElementException where there is no such schema of that kind.
   */
  public static Found schema(int id, String kind) {
    Registry registry = current;
    if (registry == null) {
      registry = sent();
    }
    Found found = registry.known.get(Integer.valueOf(id));
    if (found == null) {
      found = registry.fetched(id);
    }
    if (!found.kind.equals(kind)) {
      throw new NoSuchElementException("schema " + id + " is of type " + found.kind + ", not " + kind);
    }
    return found;
  }

  private static Registry sent() {
    TaskContext task = TaskContext.get();
    String settings = task == null ? null : task.getLocalProperty(PROPERTY);
    if (settings == null) {
      throw new IllegalStateException("records need a schema registry: set ksql.schema.registry.url");
    }
    String problem;
    try {
      problem = keep(settings);
    } catch (IOException e) {
      problem = "they are not JSON"; // what is not is not shown
    }
    if (problem != null) {
      throw new IllegalStateException("the settings of the schema registry cannot be used: " + problem);
    }
    return current;
  }

  private Found fetched(int id) {
    Integer key = Integer.valueOf(id);
    Unknown before = unknown.get(key);
    if (before != null && System.nanoTime() - before.since < UNKNOWN_FOR) {
      throw new NoSuchElementException(before.problem);
    }
    long wait = FIRST_WAIT;
    boolean told = false;
    while (true) {
      StringBuilder failures = new StringBuilder();
      for (JsonNode url : urls) {
        try {
          Found found = asked(url.asText(), id);
          if (told) {
            LOG.info("the schema registry answers again");
          }
          return found;
        } catch (IOException e) {
          failures.append(failures.length() == 0 ? "" : "; ").append(url.asText()).append(": ").append(e);
        } catch (InterruptedException e) {
          Thread.currentThread().interrupt();
          throw new IllegalStateException("interrupted while waiting for the schema registry");
        }
      }
      if (!told) {
        LOG.warn("records wait for schema {} since the schema registry does not answer: {}", key, failures);
        told = true;
      }
      TaskContext task = TaskContext.get();
      if (task != null && task.isInterrupted()) {
        throw new IllegalStateException("ended while waiting for the schema registry");
      }
      try {
        Thread.sleep(wait);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new IllegalStateException("interrupted while waiting for the schema registry");
      }
      wait = Math.min(2 * wait, LONGEST_WAIT);
    }
  }

  /**
   * What one address answers; NoSuchElementException where that is that there is none, IOException for no answer that
   * says anything of the id.
   */
  private Found asked(String url, int id) throws IOException, InterruptedException {
    JsonNode answer = answer(url + "/schemas/ids/" + id, Set.of(NO_SCHEMA));
    if (answer == null) {
      throw unknown(id, "the schema registry has no schema " + id);
    }
    Map<String, String> references = new LinkedHashMap<>();
    String missing = refer(url, answer, references, 0);
    if (missing != null) {
      throw unknown(id, "schema " + id + " refers to " + missing + ", which is not there");
    }
    List<String> texts = List.copyOf(references.values());
    Found found = new Found(answer.path("schemaType").asText("AVRO"), answer.get("schema").asText(), texts);
    known.put(Integer.valueOf(id), found);
    unknown.remove(Integer.valueOf(id));
    return found;
  }

  /** Keeps for a while that there is no such schema. */
  private NoSuchElementException unknown(int id, String problem) {
    if (unknown.size() >= MOST_UNKNOWN) {
      unknown.clear();
    }
    unknown.put(Integer.valueOf(id), new Unknown(problem, System.nanoTime()));
    return new NoSuchElementException(problem);
  }

  /** What one address answers of schemas; null where it answers one of the codes, IOException for other errors. */
  private JsonNode answer(String url, Set<Integer> none) throws IOException, InterruptedException {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(URI.create(url))
            .timeout(Duration.ofSeconds(5))
            .header("Accept", "application/vnd.schemaregistry.v1+json, application/json");
    if (!login.isEmpty()) {
      request.header("Authorization", login);
    }
    HttpResponse<String> response = Answers.of(client, request.build());
    if (response.statusCode() == 404) {
      if (!none.contains(Integer.valueOf(MAPPER.readTree(response.body()).path("error_code").asInt()))) {
        throw new IOException("HTTP status 404"); // of the address, not of what is asked for
      }
      return null;
    }
    if (response.statusCode() != 200) {
      throw new IOException("HTTP status " + response.statusCode());
    }
    JsonNode answer = MAPPER.readTree(response.body());
    if (!answer.path("schema").isTextual()) {
      throw new IOException("the answer is not that of a schema registry");
    }
    return answer;
  }

  /** Gathers the schemas that an answer's schema refers to; gives what is not there, null if all is. */
  private String refer(String url, JsonNode answer, Map<String, String> references, int depth)
      throws IOException, InterruptedException {
    if (depth > MOST_LEVELS) {
      throw new IOException("schemas refer to each other in more than " + MOST_LEVELS + " levels");
    }
    for (JsonNode each : answer.path("references")) {
      if (references.size() > MOST_REFERENCES) {
        throw new IOException("a schema refers to more than " + MOST_REFERENCES + " others");
      }
      String subject = each.path("subject").asText();
      int version = each.path("version").asInt();
      String place = subject + " " + version;
      if (!references.containsKey(place)) {
        String quoted = URLEncoder.encode(subject, StandardCharsets.UTF_8).replace("+", "%20");
        JsonNode found = answer(url + "/subjects/" + quoted + "/versions/" + version, NO_VERSION);
        String missing = found == null ? "version " + version + " of " + subject : refer(url, found, references, depth + 1);
        if (missing != null) {
          return missing;
        }
        references.putIfAbsent(place, found.get("schema").asText());
      }
    }
    return null;
  }
}
