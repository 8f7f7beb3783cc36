package ksqlpy.once;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.MockConsumer;
import org.apache.kafka.clients.consumer.OffsetResetStrategy;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.utils.ByteUtils;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Sink topics as Kafka's MockConsumer gives them. */
final class TailTest {
  private static final int NONE = -2;
  private static final String SECRET = "000102030405060708090a0b0c0d0e0f";
  private static final Key KEY = new Key(SECRET);

  private final List<ConsumerRecord<byte[], byte[]>> records = new ArrayList<>();
  private final Map<TopicPartition, Long> ends = new HashMap<>();
  private final ObjectNode spec =
      new ObjectMapper().createObjectNode().put("query", "CSAS_Q_1").put("tables", 0).put("results", "out");

  @BeforeEach
  void theKeyIsKnown() {
    Key.keep("own", SECRET);
    spec.putArray("keys").add("own");
  }

  /** A result at the end of a partition; {@code group}: its hash and what it had seen. */
  private void written(String topic, int partition, String key, int place, long offset, long window, long... group) {
    written(topic, partition, key, header("CSAS_Q_1", place, offset, window, new long[0], group));
  }

  private void written(String topic, int partition, String key, byte[] header) {
    long offset = ends.merge(new TopicPartition(topic, partition), 1L, Long::sum) - 1;
    RecordHeaders headers = new RecordHeaders();
    headers.add("other", new byte[] {1});
    if (header != null) {
      headers.add(Coordinates.HEADER, header);
    }
    byte[] bytes = key == null ? null : key.getBytes(StandardCharsets.UTF_8);
    records.add(
        new ConsumerRecord<>(
            topic, partition, offset, 0L, TimestampType.CREATE_TIME, 0, 0, bytes, null, headers, Optional.empty()));
  }

  private static byte[] header(String query, int place, long offset, long window, long[] seen, long[] group) {
    ByteBuffer bytes = ByteBuffer.allocate(200).putInt(Coordinates.mark(query));
    Coordinates.write(bytes, place, offset, window);
    for (long number : seen) {
      ByteUtils.writeVarlong(number, bytes);
    }
    for (long number : group) {
      bytes.putLong(number);
    }
    byte[] header = new byte[bytes.position() + Key.TAG];
    bytes.flip().get(header, 0, bytes.limit());
    KEY.sign(header);
    return header;
  }

  private static byte[] header(int place, long offset, long... group) {
    return header("CSAS_Q_1", place, offset, 0, new long[0], group);
  }

  /** As versions up to 0.1 wrote it, and as anybody may. */
  private static byte[] unsigned(byte[] header) {
    return Arrays.copyOf(header, header.length - Key.TAG);
  }

  /** What a tail makes of the records from these offsets on, 0 where there is none. */
  private Tail read(Map<TopicPartition, Long> from) {
    places(spec.putObject("from"), from);
    places(spec.putObject("to"), ends);
    MockConsumer<byte[], byte[]> consumer = new MockConsumer<>(OffsetResetStrategy.EARLIEST);
    consumer.schedulePollTask(
        () -> {
          for (ConsumerRecord<byte[], byte[]> record : records) {
            TopicPartition place = new TopicPartition(record.topic(), record.partition());
            if (consumer.assignment().contains(place) && record.offset() >= from.getOrDefault(place, 0L)) {
              consumer.addRecord(record);
            }
          }
        });
    Tail tail = new Tail();
    tail.read(spec, consumer);
    return tail;
  }

  private static void places(ObjectNode into, Map<TopicPartition, Long> offsets) {
    offsets.forEach(
        (place, offset) -> {
          JsonNode topic = into.get(place.topic());
          (topic == null ? into.putObject(place.topic()) : (ObjectNode) topic).put("" + place.partition(), offset);
        });
  }

  @Test
  void aResultIsFoundByWhereItCameFrom() {
    written("out", 0, "a", 3, 7, 0);
    written("out", 0, "a", 3, 8, 60_000);
    written("out", 1, "b", 1 << 16, 7, 0);
    Tail tail = read(Map.of());
    assertEquals(0, tail.find(3, 7, 0));
    assertEquals(1, tail.find(3, 8, 60_000));
    assertEquals(0, tail.find(1 << 16, 7, 0));
    assertEquals(NONE, tail.find(3, 8, 0));
    assertEquals(NONE, tail.find(3, 9, 0));
    assertEquals(NONE, tail.find(4, 7, 0));
  }

  @Test
  void whatStandsAheadOfTheStartIsNotRead() {
    written("out", 0, "a", 0, 1, 0);
    written("out", 0, "a", 0, 2, 0);
    Tail tail = read(Map.of(new TopicPartition("out", 0), 1L));
    assertEquals(NONE, tail.find(0, 1, 0));
    assertEquals(1, tail.find(0, 2, 0));
  }

  @Test
  void recordsOfOthersAreLeftOut() {
    written("out", 0, "a", header("CSAS_OTHER_2", 0, 1, 0, new long[0], new long[0]));
    written("out", 0, "a", (byte[]) null);
    written("out", 0, "a", new byte[] {1, 2, 3});
    assertEquals(NONE, read(Map.of()).find(0, 1, 0));
  }

  @Test
  void ofTwoResultsTheFirstCounts() {
    written("out", 0, "a", 0, 1, 0);
    written("out", 0, "a", 0, 1, 0);
    assertEquals(0, read(Map.of()).find(0, 1, 0));
  }

  @Test
  void aHeaderThatTheQueryHasNotSignedDoesNotCount() {
    byte[] forged = header(0, 1);
    forged[forged.length - 1] ^= 1;
    written("out", 0, "a", forged);
    written("out", 0, "a", unsigned(header(0, 2)));
    byte[] ofAnother = header(0, 3);
    new Key("000102030405060708090a0b0c0d0e10").sign(ofAnother);
    written("out", 0, "a", ofAnother);
    Tail tail = read(Map.of());
    assertEquals(NONE, tail.find(0, 1, 0));
    assertEquals(NONE, tail.find(0, 2, 0));
    assertEquals(NONE, tail.find(0, 3, 0));
  }

  @Test
  void eachOfSeveralKeysIsGood() {
    Key.keep("second", "ffffffffffffffffffffffffffffffff");
    spec.putArray("keys").add("second").add("own");
    written("out", 0, "a", header(0, 1));
    byte[] second = header(0, 2);
    new Key("ffffffffffffffffffffffffffffffff").sign(second);
    written("out", 0, "a", second);
    Tail tail = read(Map.of());
    assertEquals(0, tail.find(0, 1, 0));
    assertEquals(1, tail.find(0, 2, 0));
  }

  @Test
  void headersOfEarlierVersionsCountBelowTheirEnd() {
    spec.putObject("unsigned").putObject("out").put("0", 2).put("2", 9);
    for (int n = 0; n < 3; n++) {
      written("out", 0, "a", unsigned(header(0, n)));
    }
    written("out", 1, "a", unsigned(header(0, 7)));
    written("out", 0, "a", header(0, 8));
    Tail tail = read(Map.of());
    assertEquals(0, tail.find(0, 0, 0));
    assertEquals(1, tail.find(0, 1, 0));
    assertEquals(NONE, tail.find(0, 2, 0), "it stands where the query signed already");
    assertEquals(NONE, tail.find(0, 7, 0), "a partition that was not there then");
    assertEquals(3, tail.find(0, 8, 0));
  }

  @Test
  void malformedHeadersAreLeftOut() {
    spec.putObject("unsigned").putObject("out").put("0", 99);
    byte[] endless = Arrays.copyOf(header(0, 1), 24);
    Arrays.fill(endless, Integer.BYTES, 24, (byte) 0xff);
    written("out", 0, "a", endless);
    written("out", 0, "a", Arrays.copyOf(header(0, 1), 6));
    KEY.sign(endless);
    written("out", 0, "a", endless);
    written("out", 0, "a", Arrays.copyOf(endless, 4));
    written("out", 0, "a", header(0, 1));
    assertEquals(4, read(Map.of()).find(0, 1, 0));
  }

  @Test
  void aCopyChangesNoOrder() {
    byte[] older = header(0, 3, 42, 3, 5);
    byte[] first = header(0, 4, 42, 4, 5);
    written("out", 0, "a", older);
    written("out", 0, "a", first);
    written("out", 0, "a", header(0, 8, 42, 8, 5));
    written("out", 0, "a", first);
    written("out", 0, "a", older);
    written("out", 0, "a", header(1, 9, 42, 8, 9));
    Tail tail = read(Map.of(new TopicPartition("out", 0), 1L));
    assertEquals(1, tail.find(0, 4, 0));
    assertEquals(1, tail.findInGroup(42, 0, 4));
    assertEquals(2, tail.findInGroup(42, 0, 5));
    assertEquals(2, tail.findInGroup(42, 0, 8));
    assertEquals(5, tail.findInGroup(42, 1, 6));
  }

  @Test
  void aCopyAmongDeadLettersIsNotTheResult() {
    byte[] header = header(0, 5, 42, 5);
    written("dead", 0, "a", header);
    written("out", 0, "a", header(0, 3, 42, 3));
    written("out", 0, "a", header);
    Tail tail = read(Map.of());
    assertEquals(1, tail.find(0, 5, 0));
    assertEquals(1, tail.findInGroup(42, 0, 4));
  }

  @Test
  void aCopyWithAnotherKeyDoesNotSayThatTheKeyIsAhead() {
    spec.put("byKey", true);
    byte[] header = header(0, 5);
    written("out", 0, "a", header);
    written("out", 0, "b", header);
    Tail tail = read(Map.of());
    assertTrue(tail.isAhead(0, 4, new byte[] {'a'}));
    assertFalse(tail.isAhead(0, 4, new byte[] {'b'}));
  }

  @Test
  void veryManyResultsAreFound() {
    for (int n = 0; n < 20_000; n++) {
      written("out", 0, "a", n % 5, n / 5, n % 2);
    }
    Tail tail = read(Map.of());
    for (int n = 0; n < 20_000; n++) {
      assertEquals(n, tail.find(n % 5, n / 5, n % 2));
      assertEquals(NONE, tail.find(n % 5, n / 5, 2));
    }
  }

  @Test
  void whatAResultHadSeenOfJoinedTables() {
    spec.put("tables", 2);
    written("out", 0, "a", header("CSAS_Q_1", 0, 1, 0, new long[] {40, -1}, new long[0]));
    Tail tail = read(Map.of());
    assertEquals(40, tail.find(0, 1, -1));
    assertEquals(-1, tail.find(0, 1, -2));
    assertEquals(NONE, tail.find(0, 2, -1));
  }

  @Test
  void theFirstResultOfAGroupThatHadSeenARow() {
    written("out", 0, "a", 0, 3, 0, 42, 3, -1);
    written("out", 0, "a", 1, 9, 0, 42, 3, 9);
    written("out", 0, "b", 0, 5, 0, 43, 5, -1);
    written("out", 0, "a", 0, 8, 0, 42, 8, 9);
    Tail tail = read(Map.of());
    assertEquals(0, tail.findInGroup(42, 0, 2));
    assertEquals(0, tail.findInGroup(42, 0, 3));
    assertEquals(3, tail.findInGroup(42, 0, 4));
    assertEquals(1, tail.findInGroup(42, 1, 9));
    assertEquals(NONE, tail.findInGroup(42, 0, 9));
    assertEquals(NONE, tail.findInGroup(44, 0, 0));
    assertEquals(NONE, tail.findInGroup(42, 7, 0));
  }

  @Test
  void whatWasSeenOrdersResultsInSeveralPartitions() {
    spec.put("bySeen", true);
    written("out", 1, "a", 0, 8, 0, 42, 8, 9);
    written("out", 0, "a", 0, 3, 0, 42, 3, -1);
    written("out", 0, "a", 1, 9, 0, 42, 3, 9);
    Tail tail = read(Map.of());
    assertEquals(4, tail.findInGroup(42, 0, 3));
    assertEquals(14, tail.findInGroup(42, 1, 9));
    assertEquals(19, tail.findInGroup(42, 0, 4));
  }

  @Test
  void whichTasksGaveResultsOfARecord() {
    spec.put("ofTasks", true);
    long one = 2L << 32;
    long other = one + 3;
    written("out", 0, "a", 0, 5, 0, one, 5, -1);
    written("out", 0, "b", 0, 5, 1, one, 5, -1);
    written("out", 1, "c", 1 << 16, 5, 0, other, 4, 5);
    Tail tail = read(Map.of());
    assertEquals(0, tail.find(0, 5, Long.MIN_VALUE + one));
    assertEquals(NONE, tail.find(0, 5, Long.MIN_VALUE + other));
    assertEquals(0, tail.find(1 << 16, 5, Long.MIN_VALUE + other));
    assertEquals(NONE, tail.find(0, 6, Long.MIN_VALUE + one));
  }

  @Test
  void aLaterRecordWithAResultOfTheKeyIsAhead() {
    spec.put("byKey", true);
    written("out", 0, "a", 0, 5, 0);
    written("out", 0, "a", 0, 4, 0);
    written("dead", 0, "b", 0, 9, 0);
    written("out", 0, null, 0, 9, 0);
    Tail tail = read(Map.of());
    byte[] a = {'a'};
    assertTrue(tail.isAhead(0, 4, a));
    assertFalse(tail.isAhead(0, 5, a));
    assertFalse(tail.isAhead(1, 4, a));
    assertFalse(tail.isAhead(0, 4, new byte[] {'b'}));
    assertFalse(tail.isAhead(0, 4, null));
  }
}
