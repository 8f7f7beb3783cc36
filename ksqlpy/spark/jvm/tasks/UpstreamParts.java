package ksqlpy.tasks;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import ksqlpy.tasks.Upstream.Point;
import ksqlpy.tasks.Upstream.Reader;
import ksqlpy.tasks.Upstream.Writer;

/** What an executor says of the queries that write topics, and takes from the driver, for {@link Upstream}. */
final class UpstreamParts {
  private UpstreamParts() {}

  /** The version of the list of queries that the driver sent last. */
  private static long version = -1;

  static long version() {
    return version;
  }

  /** The queries that tasks here wait for now and then. */
  static List<String> watches() {
    List<String> found = new ArrayList<>();
    for (Writer each : Upstream.all()) {
      if (each.watchers.get() > 0) {
        found.add(each.query());
      }
    }
    return found;
  }

  /** By query how far it is here, {@code {"life":…,"tasks":n,"points":[[time,moment]],"oldest":ms,"sent":n,"answered":n}}. */
  static Map<String, Object> report() {
    Map<String, Object> found = new HashMap<>();
    for (Writer each : Upstream.all()) {
      Map<String, Object> said = new HashMap<>();
      synchronized (each) {
        List<long[]> points = new ArrayList<>();
        for (Reader reader : each.readers) {
          if (reader.used) {
            Point point = reader.point();
            points.add(new long[] {point.time(), point.moment()});
          }
        }
        said.put("life", each.life);
        said.put("tasks", Integer.valueOf(each.tasks));
        said.put("points", points);
      }
      // Behind what is read, so that nothing slips through; what is sent behind what is on its way.
      said.put("oldest", Long.valueOf(Progress.oldest(each.query())));
      Upstream.Sink sink = Upstream.sinkOf(each.query());
      said.put("answered", Long.valueOf(sink == null ? 0 : sink.answered.get()));
      said.put("sent", Long.valueOf(sink == null ? 0 : sink.sent.get()));
      found.put(each.query(), said);
    }
    return found;
  }

  /** Takes what the driver knows: its list if that is another one, what queries have written, and which others wait for. */
  static void take(JsonNode answer) {
    synchronized (Upstream.WRITERS) {
      if (answer.has("writers")) {
        takeWriters(answer.get("writers"));
        version = answer.get("version").asLong();
        Upstream.version++;
      }
      Set<String> watched = new HashSet<>();
      answer.get("watched").forEach(each -> watched.add(each.asText()));
      for (Writer each : Upstream.WRITERS.values()) {
        each.watched = watched.contains(each.query());
        JsonNode done = answer.get("done").get(each.query());
        if (done != null) {
          each.done(new Point(done.get(0).asLong(), done.get(1).asLong()));
        }
      }
    }
  }

  private static void takeWriters(JsonNode writers) {
    Set<String> known = new HashSet<>();
    for (JsonNode each : writers) {
      String query = each.get("query").asText();
      known.add(query);
      Writer writer = Upstream.WRITERS.computeIfAbsent(query, id -> new Writer(id, Set.of(), ""));
      Set<String> sources = new HashSet<>();
      each.get("sources").forEach(topic -> sources.add(topic.asText()));
      writer.sources = sources;
      writer.topic = each.get("topic").asText();
      writer.ended = false;
    }
    Upstream.WRITERS.values().removeIf(each -> {
      boolean gone = !known.contains(each.query());
      each.ended |= gone;
      each.topic = gone ? "" : each.topic;
      return gone && each.readers.isEmpty();
    });
  }
}
