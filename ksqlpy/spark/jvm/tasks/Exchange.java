package ksqlpy.tasks;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import ksqlpy.tasks.Stage.Reader;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * An executor's side of {@link Progress} over a cluster: tells the driver what is on its way in this JVM, and takes what
 * the others say of the same batches.
 *
 * <p>Who sends a row notes it, and whoever has done it says so, in numbers of rows. What is said is a cut through which no
 * row slips: done rows are looked at first, then what is on its way, from the first shuffle to the last; and whoever is
 * told of done rows is told in the same answer of what has become of them. The driver takes one report at a time.
 */
public final class Exchange implements Runnable {
  private static final Logger LOG = LoggerFactory.getLogger(Exchange.class);
  private static final ObjectMapper MAPPER = new ObjectMapper();

  /** For so many ms an answer says enough of the last second. */
  private static final long FRESH = 500;

  /** What a report says of a task behind a shuffle. */
  private static final int ASKS = 0;

  private static final int WORKS = 1;
  private static final int ENDED = 2;

  private static final ExecutorService SENDING =
      Executors.newCachedThreadPool(
          work -> {
            Thread thread = new Thread(work, "results that are due");
            thread.setDaemon(true);
            return thread;
          });

  private static volatile boolean running = false;
  private static volatile long begun = 0;

  /** Ms to the next report, if nobody here waits for it. */
  static final long PAUSE = 50;

  private static final long SOON = 5;

  private final String executor;

  /** The number that the driver gave to each exchange of this JVM. */
  private final TreeMap<Long, Long> numbers = new TreeMap<>();

  private long known = -1;
  private long pause = PAUSE;

  private Exchange(String executor) {
    this.executor = executor;
  }

  /** This JVM is an executor of this id. To be called ahead of its tasks. */
  public static void begin(String executor) {
    running = true;
    Exchange made = new Exchange(executor);
    made.exchange();
    Thread thread = new Thread(made, "progress of batches");
    thread.setDaemon(true);
    thread.start();
  }

  /** Whether there are other executors. */
  static boolean isRunning() {
    return running;
  }

  /** The moment, as the number of exchanges so far: one with a larger number knows of all that is there now. */
  static long mark() {
    return begun;
  }

  @Override
  public void run() {
    while (true) {
      try {
        Thread.sleep(isWaiting() ? Math.min(SOON, pause) : pause);
      } catch (InterruptedException e) {
        return;
      }
      exchange();
    }
  }

  private static List<Progress> batches() {
    synchronized (Progress.OF) {
      return List.copyOf(Progress.OF.values());
    }
  }

  private static boolean isWaiting() {
    if (Upstream.waits()) {
      return true;
    }
    for (Progress each : batches()) {
      if (each.isWaiting()) {
        return true;
      }
    }
    return false;
  }

  private void exchange() {
    long number = begun + 1;
    begun = number;
    List<Progress> batches;
    List<Progress> left = new ArrayList<>();
    synchronized (Progress.OF) {
      batches = List.copyOf(Progress.OF.values());
      for (Progress each : batches) {
        if (each.isLeft()) {
          left.add(each);
        }
      }
    }
    Map<String, Object> said = new HashMap<>();
    boolean waits = Upstream.waits();
    for (Progress each : batches) {
      Map<String, Object> of = report(each);
      of.put("left", Boolean.valueOf(left.contains(each)));
      said.put(each.name, of);
      waits |= each.isWaiting();
    }
    long asked = System.nanoTime();
    JsonNode answer;
    try {
      answer =
          MAPPER.readTree(
              ToDriver.ask(
                  Map.of(
                      "exchange", executor,
                      "known", Long.valueOf(known),
                      "waits", Boolean.valueOf(waits),
                      "batches", said,
                      "version", Long.valueOf(UpstreamParts.version()),
                      "watches", UpstreamParts.watches(),
                      "queries", UpstreamParts.report())));
    } catch (Exception e) {
      LOG.warn("no exchange with the driver: {}", e.toString());
      return;
    }
    known = answer.get("number").asLong();
    pause = answer.get("pause").asLong();
    UpstreamParts.take(answer);
    numbers.put(Long.valueOf(number), Long.valueOf(known));
    for (Progress each : batches) {
      JsonNode others = answer.get("batches").get(each.name);
      if (others != null) {
        take(each, others, asked);
      }
    }
    while (numbers.size() > 1_000) {
      numbers.pollFirstEntry();
    }
    synchronized (Progress.OF) {
      for (Progress each : left) {
        if (each.isLeft()) { // its last words are with the driver
          Progress.OF.remove(each.name, each);
        }
      }
    }
  }

  /** The largest number of an own exchange that the driver had taken before it took this one. */
  private long covered(long by) {
    long found = -1;
    for (Map.Entry<Long, Long> each : numbers.descendingMap().entrySet()) {
      if (each.getValue().longValue() <= by) {
        found = each.getKey().longValue();
        break;
      }
    }
    return found;
  }

  private static Map<String, Object> report(Progress batch) {
    Stage[] stages = batch.stages();
    List<long[]> done = new ArrayList<>();
    List<long[]> readers = new ArrayList<>();
    for (int s = 0; s < stages.length; s++) {
      for (int i = 0; i < stages[s].readers.length; i++) {
        Reader reader = stages[s].readers[i];
        if (reader.thread == null) {
          continue; // not here
        }
        readers.add(new long[] {s, i, reader.ended ? ENDED : reader.asks == Long.MAX_VALUE ? WORKS : ASKS});
        for (int k = 0; k < stages[s].sends.length; k++) {
          if (!stages[s].sends[k] && stages[s].sent[k][i].doneHere() > 0) {
            done.add(new long[] {s, k, i, stages[s].sent[k][i].doneHere()});
          }
        }
      }
    }
    stages = batch.stages();
    List<long[]> oldest = new ArrayList<>();
    for (int s = 0; s < stages.length; s++) {
      for (int i = 0; i < stages[s].readers.length; i++) {
        long time = stages[s].oldest(i);
        if (time != Long.MAX_VALUE && !batch.isGivenUp(stages[s].readers[i], s, i)) {
          oldest.add(new long[] {s, i, time});
        }
      }
    }
    Map<String, Object> said = new HashMap<>();
    List<long[]> sent = new ArrayList<>();
    for (int s = 0; s < stages.length; s++) {
      for (int k = 0; k < stages[s].sends.length; k++) {
        for (int i = 0; stages[s].sends[k] && i < stages[s].readers.length; i++) {
          if (stages[s].readers[i].thread == null && !stages[s].sent[k][i].isEmpty()) {
            sent.add(new long[] {s, k, i, stages[s].sent[k][i].count()});
          }
        }
      }
    }
    said.put("done", done);
    said.put("readers", readers);
    said.put("oldest", oldest);
    said.put("sent", sent);
    return said;
  }

  private void take(Progress batch, JsonNode others, long asked) {
    Stage[] stages = batch.stages();
    int count = stages.length;
    for (JsonNode each : others.get("oldest")) {
      count = Math.max(count, each.get(0).asInt() + 1);
    }
    long[][] oldest = View.nothing(count, batch.tasks());
    for (JsonNode each : others.get("oldest")) {
      int s = each.get(0).asInt();
      int i = each.get(1).asInt();
      oldest[s][i] = Math.min(oldest[s][i], each.get(2).asLong());
    }
    for (JsonNode each : others.get("sent")) {
      batch.stage(each.get(0).asInt()).sent[each.get(1).asInt()][each.get(2).asInt()].sentElsewhere(each.get(3).asLong());
    }
    long until = asked + TimeUnit.MILLISECONDS.toNanos(FRESH - others.get("age").asLong());
    // Ahead of what is done: who sees a row no more must see what has become of it.
    batch.sees(new View(oldest, covered(others.get("known").asLong()), until));
    Map<Reader, Boolean> moved = new HashMap<>();
    for (JsonNode each : others.get("done")) {
      Stage stage = batch.stage(each.get(0).asInt());
      int k = each.get(1).asInt();
      int i = each.get(2).asInt();
      if (stage.sends[k]) {
        moved.merge(stage.readers[i], Boolean.valueOf(stage.sent[k][i].removeUpTo(each.get(3).asLong())), Boolean::logicalOr);
      }
    }
    for (JsonNode each : others.get("readers")) {
      Reader reader = batch.stage(each.get(0).asInt()).readers[each.get(1).asInt()];
      int state = each.get(2).asInt();
      if (state == ENDED) {
        reader.ended = true;
      } else if (state == WORKS) {
        reader.asks = Long.MAX_VALUE;
      } else if (reader.asks == Long.MAX_VALUE || moved.getOrDefault(reader, Boolean.FALSE).booleanValue()) {
        reader.asks = batch.looks();
      }
    }
    if (batch.isWaiting()) {
      SENDING.execute(batch::moved);
    }
  }
}
