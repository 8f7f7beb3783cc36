package ksqlpy.once;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import ksqlpy.clients.Connections;
import ksqlpy.metrics.Reports;
import net.jpountz.xxhash.XXHash64;
import net.jpountz.xxhash.XXHashFactory;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * What a query has already written since a checkpoint: the end of its sink topics, by the coordinates that every
 * record carries in a header, see {@link Coordinates}.
 *
 * <p>Results of one group may lie in several partitions of the sink (tables that are joined, then grouped by something
 * else). With {@code bySeen} not their offsets order them, but the sum of what they had seen, which only grows.
 *
 * <p>With {@code byKey} it also knows, for each key of a result and each place, how far the source was when its last
 * result was written.
 *
 * <p>With {@code ofTasks} groups are the tasks of a step that has a state across its keys, and it knows of each record
 * whether it has any result of a task.
 *
 * <p>Who may write a sink topic may write anything there. A header counts with the tag of one of the query's keys
 * ({@link Key}). One without a tag counts below the offsets at which the query's topics ended when it began to sign. Of
 * equal coordinates the first count, in the topic of the results if they are there: others are copies, which say
 * nothing of the order of results.
 *
 * <p>A specification names it:
 * {@code {"connection":key,"query":…,"keys":[name],"tables":n,"bySeen":…,"byKey":…,"ofTasks":…,"results":topic,
 * "unsigned":{topic:{partition:offset}},"from":{…},"to":{…}}}. It is read once in each JVM that asks, and stays until it
 * is forgotten.
 */
public final class Tail {
  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final Map<String, Tail> READ = new HashMap<>();

  /** Of keys: neither Java's nor Kafka's hashes have 64 bits. */
  private static final XXHash64 HASH = XXHashFactory.fastestJavaInstance().hash64();

  private static final long SEED = 42L;

  private static final int LARGEST_AT_FIRST = 1 << 20;
  /** The number of a result, plus that of a task, by which it is asked whether a record has any of that task. */
  private static final long ANY = Long.MIN_VALUE;

  private volatile Table table = new Table(2);
  private volatile boolean over = false;
  // By hash of the group: for each of its results, in their order, the position and what it had seen.
  private final Map<Long, List<long[]>> groups = new ConcurrentHashMap<>();
  private int mark;
  private Key[] keys;
  // Below these offsets headers without a tag count.
  private final Map<TopicPartition, Long> unsigned = new HashMap<>();
  private int tables;
  private boolean bySeen;
  private boolean byKey;
  private boolean ofTasks;
  private String results;
  // By place and hash of the result's key: the largest offset that has a result.
  private final Map<Long, Long> reached = new ConcurrentHashMap<>();
  // By place: the largest offset that has a result.
  private final Map<Integer, Long> highest = new ConcurrentHashMap<>();
  private int size = 0;
  private int records = 0;

  /** The tail of this specification, read now if it was not yet. */
  static Tail of(String spec) throws IOException {
    synchronized (READ) {
      Tail known = READ.get(spec);
      if (known == null) {
        JsonNode described = MAPPER.readTree(spec);
        known = new Tail();
        try (Consumer<byte[], byte[]> consumer = consumer(described)) {
          known.read(described, consumer);
        }
        READ.put(spec, known);
      }
      return known;
    }
  }

  /** The specifications of all tails that this JVM holds. */
  public static Set<String> known() {
    synchronized (READ) {
      return new HashSet<>(READ.keySet());
    }
  }

  /** Reads it, and returns how many records of the query are in it. */
  public static int load(String spec) throws IOException {
    Reports.tail(spec, true);
    return of(spec).records;
  }

  /** Up to where, for each place, the source was when it was written: the largest offsets with a result, as JSON. */
  public static String highest(String spec) throws IOException {
    return MAPPER.writeValueAsString(of(spec).highest);
  }

  /** Of each lane of a task, the largest offset that any result had seen, as JSON; empty if results do not say it. */
  public static String farthest(String spec) throws IOException {
    List<Long> lanes = new ArrayList<>();
    for (List<long[]> results : of(spec).groups.values()) {
      for (long[] result : results) {
        for (int lane = 1; lane < result.length; lane++) {
          if (lanes.size() < lane) {
            lanes.add(Long.valueOf(-1));
          }
          lanes.set(lane - 1, Long.valueOf(Math.max(lanes.get(lane - 1).longValue(), result[lane])));
        }
      }
    }
    return MAPPER.writeValueAsString(lanes);
  }

  /** Frees its memory, when nobody asks any more for what it holds; whoever asks is told that nothing was written. */
  public static void empty(String spec) {
    Reports.tail(spec, false);
    synchronized (READ) {
      Tail known = READ.get(spec);
      if (known != null && !known.over) {
        known.over = true;
        known.table = new Table(2);
        known.groups.clear();
        known.reached.clear();
      }
    }
  }

  /** Knows no more of it. Tasks that have it keep it as it is: they must not take what it holds for new. */
  public static void forget(String spec) {
    Reports.forgetTail(spec);
    synchronized (READ) {
      READ.remove(spec);
    }
  }

  /**
   * The offset at which the result of a source record was written, or -2 if it was not. A window of -1 asks for the
   * offset of the first joined table's record that the result had seen, -2 for the second's, and so on.
   */
  long find(int place, long offset, long window) {
    return table.find(place, offset, window);
  }

  /** The offset of the group's first result that had seen this row of the source, or -2 if there is none. */
  long findInGroup(long group, int partition, long offset) {
    List<long[]> results = over ? null : groups.get(group);
    if (results == null) {
      return -2;
    }
    int low = 0;
    int high = results.size();
    while (low < high) {
      int middle = (low + high) >>> 1;
      if (seen(results.get(middle), partition) < offset) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low == results.size() ? -2 : results.get(low)[0];
  }

  /**
   * Whether a later record of this place has a result with this key. Where rows of one key are worked on one after the
   * other, the one that is asked for was worked on, too; having no result, it had none to give.
   */
  boolean isAhead(int place, long offset, byte[] key) {
    // Emptied, it is asked for every row still.
    Long last = key == null || reached.isEmpty() ? null : reached.get(keyed(place, key));
    return last != null && last > offset;
  }

  private static long keyed(int place, byte[] key) {
    return HASH.hash(key, 0, key.length, SEED) * 31 + place;
  }

  private static long seen(long[] result, int partition) {
    return partition + 1 < result.length ? result[partition + 1] : -1;
  }

  private static Consumer<byte[], byte[]> consumer(JsonNode spec) {
    Map<String, Object> settings = Connections.settings(spec.get("connection").asText(), "consumer");
    settings.put("enable.auto.commit", "false");
    settings.put("auto.offset.reset", "earliest");
    // Results are written without transactions. An open one of another writer must not hide those behind it, which would
    // be written again.
    settings.put("isolation.level", "read_uncommitted");
    settings.put("auto.include.jmx.reporter", "false"); // it lives for a moment
    settings.put("key.deserializer", ByteArrayDeserializer.class.getName());
    settings.put("value.deserializer", ByteArrayDeserializer.class.getName());
    return new KafkaConsumer<>(settings);
  }

  void read(JsonNode spec, Consumer<byte[], byte[]> consumer) {
    tables = spec.get("tables").asInt();
    bySeen = spec.path("bySeen").asBoolean(false);
    byKey = spec.path("byKey").asBoolean(false);
    ofTasks = spec.path("ofTasks").asBoolean(false);
    results = spec.path("results").asText();
    Map<TopicPartition, Long> ends = new HashMap<>();
    Map<TopicPartition, Long> starts = new HashMap<>();
    places(spec.get("from"), starts);
    places(spec.get("to"), ends);
    places(spec.path("unsigned"), unsigned);
    mark = Coordinates.mark(spec.get("query").asText());
    keys = new Key[spec.path("keys").size()];
    for (int i = 0; i < keys.length; i++) {
      keys[i] = Key.named(spec.get("keys").get(i).asText());
    }
    List<TopicPartition> open = new ArrayList<>();
    long expected = 0;
    for (Map.Entry<TopicPartition, Long> end : ends.entrySet()) {
      Long start = starts.get(end.getKey());
      long length = end.getValue() - (start == null ? 0 : start);
      if (length > 0) {
        open.add(end.getKey());
        expected += length;
      }
    }
    table = new Table(slots(expected * (1 + tables)));
    consumer.assign(open);
    for (int i = 0; i < open.size(); i++) {
      Long start = starts.get(open.get(i));
      consumer.seek(open.get(i), start == null ? 0 : start);
    }
    // Results first: a copy of one in another topic must not be taken for it.
    List<TopicPartition> others = new ArrayList<>(open);
    others.removeIf(place -> place.topic().equals(results));
    open.removeAll(others);
    consumer.pause(others);
    take(consumer, open, ends);
    consumer.resume(others);
    take(consumer, others, ends);
    if (bySeen) {
      for (List<long[]> results : groups.values()) {
        results.sort(Comparator.comparingLong(result -> result[0]));
      }
    }
  }

  /** Takes the records of partitions up to their ends. */
  private void take(
      Consumer<byte[], byte[]> consumer, List<TopicPartition> open, Map<TopicPartition, Long> ends) {
    while (!open.isEmpty()) {
      ConsumerRecords<byte[], byte[]> polled = consumer.poll(Duration.ofMillis(200));
      for (ConsumerRecord<byte[], byte[]> found : polled) {
        take(found);
      }
      for (int i = open.size() - 1; i >= 0; i--) {
        TopicPartition place = open.get(i);
        if (consumer.position(place) >= ends.get(place)) {
          open.remove(i);
          consumer.pause(List.of(place));
        }
      }
    }
  }

  /** For so many entries, if they are not very many: a table that grows works on all of them again. */
  private static int slots(long entries) {
    int slots = 1 << 12;
    while (slots < LARGEST_AT_FIRST && slots * 2L < entries * 3L) {
      slots *= 2;
    }
    return slots;
  }

  private static void places(JsonNode topics, Map<TopicPartition, Long> into) {
    Iterator<String> names = topics.fieldNames();
    while (names.hasNext()) {
      String topic = names.next();
      JsonNode offsets = topics.get(topic);
      Iterator<String> partitions = offsets.fieldNames();
      while (partitions.hasNext()) {
        String partition = partitions.next();
        into.put(
            new TopicPartition(topic, Integer.parseInt(partition)),
            Long.valueOf(offsets.get(partition).asLong()));
      }
    }
  }

  /** The coordinates of a record that the query has written; null for one of others, whatever its header says. */
  private Coordinates own(ConsumerRecord<byte[], byte[]> record) {
    Header header = record.headers().lastHeader(Coordinates.HEADER);
    byte[] value = header == null ? null : header.value();
    if (!Coordinates.isOf(mark, value)) {
      return null;
    }
    for (int i = 0; i < keys.length; i++) {
      if (keys[i].signed(value)) {
        return Coordinates.read(value, value.length - Key.TAG, tables);
      }
    }
    Long limit = unsigned.get(new TopicPartition(record.topic(), record.partition()));
    return limit != null && record.offset() < limit ? Coordinates.read(value, value.length, tables) : null;
  }

  private void take(ConsumerRecord<byte[], byte[]> record) {
    Coordinates at = own(record);
    if (at == null) {
      return;
    }
    records++;
    if (!put(at.place(), at.offset(), at.window(), record.offset())) {
      return;
    }
    if (ofTasks && at.group().length > 0) {
      put(at.place(), at.offset(), ANY + at.group()[0], record.offset());
    }
    highest.merge(at.place(), at.offset(), Math::max);
    // A dead letter says nothing of the results before it: it may be in its topic when they are not yet in theirs.
    if (byKey && record.key() != null && record.topic().equals(results)) {
      reached.merge(keyed(at.place(), record.key()), at.offset(), Math::max);
    }
    for (int table = 0; table < at.seen().length; table++) {
      put(at.place(), at.offset(), -1 - table, at.seen()[table]);
    }
    if (at.group().length > 0) {
      // In place of the hash, the position.
      long[] result = at.group();
      long group = result[0];
      result[0] = record.offset();
      if (bySeen && result.length > 1) {
        result[0] = 0;
        for (int i = 1; i < result.length; i++) {
          result[0] += result[i] + 1;
        }
      }
      List<long[]> results = groups.computeIfAbsent(group, hash -> new ArrayList<>());
      if (bySeen || results.isEmpty() || !hadSeen(results.get(results.size() - 1), result)) {
        results.add(result);
      }
    }
  }

  /**
   * Whether a result of a group had seen all that another one had. One that follows it in their partition has seen more,
   * unless it is a copy of a result from before the tail.
   */
  private static boolean hadSeen(long[] result, long[] other) {
    for (int i = 1; i < other.length; i++) {
      if (seen(result, i - 1) < other[i]) {
        return false;
      }
    }
    return true;
  }

  /** Whether it was not there: what was written first counts. */
  private boolean put(int place, long offset, long window, long value) {
    if (!table.put(place, offset, window, value)) {
      return false;
    }
    size++;
    if (size * 3L > table.numbers.length * 2L) {
      table = table.larger();
    }
    return true;
  }

  /** A hash table with open addressing; a slot is free where the number, which is the offset + 1, is 0. */
  private static final class Table {
    private final long[] numbers;
    private final int[] places;
    private final long[] windows;
    private final long[] values;

    Table(int slots) {
      numbers = new long[slots];
      places = new int[slots];
      windows = new long[slots];
      values = new long[slots];
    }

    long find(int place, long offset, long window) {
      int slot = slot(place, offset + 1, window);
      return numbers[slot] == 0 ? -2 : values[slot];
    }

    boolean put(int place, long offset, long window, long value) {
      int slot = slot(place, offset + 1, window);
      if (numbers[slot] != 0) {
        return false;
      }
      numbers[slot] = offset + 1;
      places[slot] = place;
      windows[slot] = window;
      values[slot] = value;
      return true;
    }

    Table larger() {
      Table made = new Table(numbers.length * 2);
      for (int i = 0; i < numbers.length; i++) {
        if (numbers[i] != 0) {
          made.put(places[i], numbers[i] - 1, windows[i], values[i]);
        }
      }
      return made;
    }

    private int slot(int place, long number, long window) {
      long mixed = ((((long) place << 44) + number) * 31 + window) * 0x9E3779B97F4A7C15L;
      int mask = numbers.length - 1;
      int slot = (int) (mixed >>> 32) & mask;
      while (numbers[slot] != 0
          && (numbers[slot] != number || places[slot] != place || windows[slot] != window)) {
        slot = (slot + 1) & mask;
      }
      return slot;
    }
  }
}
