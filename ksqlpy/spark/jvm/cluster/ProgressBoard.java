package ksqlpy.cluster;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;

/**
 * The driver's side of {@link ksqlpy.tasks.Exchange}: keeps what each executor said last of its batches, and tells each
 * what the others say.
 *
 * <p>A report is {@code {"exchange":executor,"known":n,"waits":true,"batches":{batch:{"done":[[shuffle,from,to,n]],"readers":[[shuffle,task,state]],
 * "oldest":[[shuffle,task,ms]],"sent":[[shuffle,from,to,n]],"left":false}}}; its answer {@code {"number":n,"pause":ms,"batches":{…}}}
 * has the same of all others in one, with the least {@code known} of them and the {@code age} of the oldest report in ms.
 * For {@link UpstreamBoard} a report has {@code "version":n,"watches":[query],"queries":{…}} (see {@code UpstreamParts}), and
 * an answer {@code "watched":[query],"done":{query:[time,moment]}}, with {@code "version":n,"writers":[{"query":…,"topic":…,"sources":[…]}]}
 * where these are news.
 */
final class ProgressBoard {
  private static final ObjectMapper MAPPER = new ObjectMapper();

  /** Ms between two reports; while a batch is read by time; and while results or rows wait. */
  private static final long PAUSE = 100;

  private static final long PAUSE_OF_BATCHES = 50;
  private static final long SOON = 5;

  /** An executor that has said nothing for so long is waited for by the batches only that it has tasks of. */
  private static final long SILENT_NANOS = TimeUnit.SECONDS.toNanos(1);

  /** For so long what was said of a batch is kept behind its end. */
  private static final long KEPT_NANOS = TimeUnit.SECONDS.toNanos(30);

  /** For so long a batch waits for its end when an executor that had tasks of it is gone. */
  private static final long HELD_NANOS = TimeUnit.SECONDS.toNanos(30);

  /** And one of which that executor had not said yet whether it has tasks of it. */
  private static final long UNSAID_NANOS = TimeUnit.SECONDS.toNanos(1);

  private static final String[] LISTS = {"done", "readers", "oldest", "sent"};

  private static final Map<String, Said> LAST = new TreeMap<>();

  /** By batch and executor what one said last whose tasks have ended; others need it until theirs have. */
  private static final Map<String, Map<String, Said>> LEFT = new TreeMap<>();

  /** By batch, until when no row of it is next. */
  private static final Map<String, Long> HELD = new TreeMap<>();

  private static long number = 0;
  private static UpstreamBoard upstream = new UpstreamBoard();

  private ProgressBoard() {}

  /** A report, or the part of one on a batch; when it came. */
  private record Said(JsonNode report, long at) {
    boolean concerns(String batch, long now) {
      return report.get("batches").has(batch) || now - at < SILENT_NANOS;
    }
  }

  static synchronized void begin() {
    LAST.clear();
    LEFT.clear();
    HELD.clear();
    number = 0;
    upstream = new UpstreamBoard();
  }

  /**
   * An executor is gone, and with it what was on its way there. Spark ends the batches that it had tasks of; until then
   * the others write nothing that is not known to be next, since the recovery will write the older rows.
   */
  static synchronized void left(String executor) {
    long now = System.nanoTime();
    Said last = LAST.remove(executor);
    for (Said each : LAST.values()) {
      each.report.get("batches").fieldNames().forEachRemaining(batch -> hold(batch, now + UNSAID_NANOS));
    }
    if (last != null) {
      for (Map.Entry<String, JsonNode> each : last.report.get("batches").properties()) {
        if (!each.getValue().get("left").asBoolean()) {
          hold(each.getKey(), now + HELD_NANOS);
        }
      }
    }
  }

  private static void hold(String batch, long until) {
    HELD.merge(batch, Long.valueOf(until), (one, other) -> one - other > 0 ? one : other);
  }

  /** Takes a report; gives the answer, JSON. */
  static synchronized String take(JsonNode report) throws JsonProcessingException {
    String executor = report.get("exchange").asText();
    long now = System.nanoTime();
    LAST.put(executor, new Said(report, now));
    keepLeft(executor, report, now);
    HELD.values().removeIf(until -> now - until > 0);
    ObjectNode answer = MAPPER.createObjectNode();
    answer.put("number", ++number);
    boolean waits = false;
    boolean reads = false;
    for (Said each : LAST.values()) {
      waits |= each.report.get("waits").asBoolean();
      reads |= !each.report.get("batches").isEmpty();
    }
    answer.put("pause", waits ? SOON : reads ? PAUSE_OF_BATCHES : PAUSE);
    ObjectNode batches = answer.putObject("batches");
    report.get("batches").fieldNames().forEachRemaining(batch -> others(executor, batch, now, batches.putObject(batch)));
    Map<String, JsonNode> reports = new TreeMap<>();
    LAST.forEach((id, each) -> reports.put(id, each.report));
    upstream.look(reports, number);
    upstream.answer(report, reports.values(), answer);
    return MAPPER.writeValueAsString(answer);
  }

  /** See {@link UpstreamBoard#livesOf}. */
  static synchronized int livesOf(String query) {
    return upstream.livesOf(query);
  }

  private static void keepLeft(String executor, JsonNode report, long now) {
    for (Map.Entry<String, JsonNode> each : report.get("batches").properties()) {
      if (each.getValue().get("left").asBoolean()) {
        LEFT.computeIfAbsent(each.getKey(), batch -> new TreeMap<>()).put(executor, new Said(each.getValue(), now));
      }
    }
    LEFT.entrySet().removeIf(each -> {
      boolean used = false;
      for (Said said : LAST.values()) {
        used |= said.report.get("batches").has(each.getKey());
      }
      return !used && each.getValue().values().stream().allMatch(said -> now - said.at > KEPT_NANOS);
    });
  }

  private static void add(JsonNode of, ArrayNode[] lists) {
    for (int i = 0; of != null && i < LISTS.length; i++) {
      of.get(LISTS[i]).forEach(lists[i]::add);
    }
  }

  private static void others(String executor, String batch, long now, ObjectNode found) {
    long known = Long.MAX_VALUE;
    long age = 0;
    ArrayNode[] lists = new ArrayNode[LISTS.length];
    for (int i = 0; i < LISTS.length; i++) {
      lists[i] = found.putArray(LISTS[i]);
    }
    for (Map.Entry<String, Said> each : LAST.entrySet()) {
      Said said = each.getValue();
      if (each.getKey().equals(executor) || !said.concerns(batch, now)) {
        continue;
      }
      known = Math.min(known, said.report.get("known").asLong());
      age = Math.max(age, TimeUnit.NANOSECONDS.toMillis(now - said.at));
      JsonNode of = said.report.get("batches").get(batch);
      add(of, lists);
    }
    LEFT.getOrDefault(batch, Map.of()).forEach((id, said) -> {
      Said last = LAST.get(id);
      if (!id.equals(executor) && (last == null || !last.report.get("batches").has(batch))) {
        add(said.report, lists);
      }
    });
    boolean held = HELD.containsKey(batch);
    found.put("known", held ? -1 : known);
    found.put("age", held ? TimeUnit.NANOSECONDS.toMillis(HELD_NANOS) : age);
  }
}
