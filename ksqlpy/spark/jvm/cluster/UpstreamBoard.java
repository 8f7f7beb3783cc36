package ksqlpy.cluster;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import ksqlpy.tasks.Upstream;
import ksqlpy.tasks.Upstream.Point;

/**
 * How far the queries of a cluster have written their topics, see {@link Upstream}: found out of what executors say, each
 * step by reports that were made behind the step before. Not for several threads.
 */
final class UpstreamBoard {
  /** How long rows may be on their way where nobody notes them. */
  private static final long SETTLE_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

  /** Behind so long a later point is taken: what came at a moment without records may never be past under load. */
  private static final long PATIENCE_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

  private final Map<String, Found> found = new HashMap<>();

  /** What is found of one query. */
  private static final class Found {
    /** The lives of the query that are reported, and the newest, in this order; those up to {@link #over} have ended. */
    private final List<String> lives = new ArrayList<>();

    private int over = 0;
    private int begun = -1;
    private Point next; // null while there is none
    private long number;
    private long since;
    private boolean past;
    private final Map<String, Long> sent = new HashMap<>();

    /** All lives but these and the newest. */
    private void forget(Set<String> reported) {
      for (int i = lives.size() - 2; i >= 0; i--) {
        if (!reported.contains(lives.get(i))) {
          lives.remove(i);
          over -= i < over ? 1 : 0;
        }
      }
    }
  }

  /** Looks at the last reports, by executor, of which the driver has taken so many. */
  void look(Map<String, JsonNode> reports, long number) {
    Set<String> watched = watched(reports.values());
    Set<String> known = new HashSet<>();
    for (Upstream.Writer writer : Upstream.all()) {
      known.add(writer.query());
      Found of = found.computeIfAbsent(writer.query(), query -> new Found());
      note(of, writer, reports.values());
      if (watched.contains(writer.query())) {
        look(of, writer, reports, number);
      }
    }
    found.keySet().retainAll(known);
  }

  /** How many lives of a query are kept. */
  int livesOf(String query) {
    return found.containsKey(query) ? found.get(query).lives.size() : 0;
  }

  /** Adds to an answer what its executor needs to know. */
  void answer(JsonNode report, Collection<JsonNode> reports, ObjectNode answer) {
    List<Upstream.Writer> writers = Upstream.all();
    long version = Upstream.version();
    if (report.get("version").asLong() != version) {
      answer.put("version", version);
      ArrayNode list = answer.putArray("writers");
      for (Upstream.Writer each : writers) {
        ObjectNode of = list.addObject();
        of.put("query", each.query());
        of.put("topic", each.topic());
        each.sources().forEach(of.putArray("sources")::add);
      }
    }
    Set<String> watches = new HashSet<>();
    report.get("watches").forEach(each -> watches.add(each.asText()));
    ObjectNode done = answer.putObject("done");
    for (Upstream.Writer each : writers) {
      if (watches.contains(each.query())) {
        Point point = each.done();
        done.putArray(each.query()).add(point.time()).add(point.moment());
      }
    }
    watched(reports).forEach(answer.putArray("watched")::add);
  }

  private static Set<String> watched(Collection<JsonNode> reports) {
    Set<String> watched = new HashSet<>();
    reports.forEach(report -> report.get("watches").forEach(each -> watched.add(each.asText())));
    return watched;
  }

  private static void note(Found of, Upstream.Writer writer, Collection<JsonNode> reports) {
    Set<String> reported = new HashSet<>();
    for (JsonNode report : reports) {
      JsonNode said = report.get("queries").get(writer.query());
      if (said != null) {
        reported.add(said.get("life").asText());
      }
    }
    of.forget(reported);
    int lives = of.lives.size();
    for (JsonNode report : reports) {
      JsonNode said = report.get("queries").get(writer.query());
      if (said != null && !said.get("points").isEmpty() && !of.lives.contains(said.get("life").asText())) {
        of.lives.add(said.get("life").asText());
      }
    }
    if (of.begun != writer.begun()) {
      of.begun = writer.begun();
      of.over = lives; // those that are new come of this start
      of.next = null;
    } else if (of.lives.size() > lives) {
      of.next = null;
      writer.done(Point.NONE);
    }
  }

  private static void look(Found of, Upstream.Writer writer, Map<String, JsonNode> reports, long number) {
    if (of.next == null) {
      Point read = read(of, writer, reports.values());
      if (read.equals(Point.NONE) || read.equals(writer.done())) {
        return;
      }
      of.next = read;
      of.number = number;
      of.since = System.nanoTime();
      of.past = false;
      of.sent.clear();
      return;
    }
    boolean all = true;
    for (Map.Entry<String, JsonNode> each : reports.entrySet()) {
      JsonNode said = each.getValue().get("queries").get(writer.query());
      if (said == null) {
        continue;
      }
      boolean behind = each.getValue().get("known").asLong() >= of.number;
      if (!of.past) {
        all &= behind && said.get("oldest").asLong() >= of.next.time();
      } else {
        if (behind) {
          of.sent.putIfAbsent(each.getKey(), Long.valueOf(said.get("sent").asLong()));
        }
        Long sent = of.sent.get(each.getKey());
        all &= sent != null && said.get("answered").asLong() >= sent.longValue();
      }
    }
    if (all && of.past) {
      writer.done(of.next);
      of.next = null;
    } else if (all && System.nanoTime() - of.since >= SETTLE_NANOS) {
      of.past = true;
      of.number = number;
    } else if (!of.past && System.nanoTime() - of.since >= PATIENCE_NANOS) {
      of.next = null;
    }
  }

  private static Point read(Found of, Upstream.Writer writer, Collection<JsonNode> reports) {
    if (of.lives.size() <= of.over) {
      return Point.NONE;
    }
    String life = of.lives.get(of.lives.size() - 1);
    Point all = Point.ALL;
    int count = 0;
    int tasks = 1;
    for (JsonNode report : reports) {
      JsonNode said = report.get("queries").get(writer.query());
      if (said != null && said.get("life").asText().equals(life)) {
        tasks = said.get("tasks").asInt();
        for (JsonNode each : said.get("points")) {
          all = all.and(new Point(each.get(0).asLong(), each.get(1).asLong()));
          count++;
        }
      }
    }
    return count < tasks ? Point.NONE : all;
  }
}
