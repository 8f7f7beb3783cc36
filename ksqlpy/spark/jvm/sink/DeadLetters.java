package ksqlpy.sink;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import ksqlpy.once.Coordinates;
import ksqlpy.once.Key;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.utils.ByteUtils;

/**
 * Dead letters of results and late records that are too large for their topics, and dead letters that are themselves too
 * large: they are cut to what fits, and a header says how large the whole is.
 *
 * <p>A dead letter of a result has its coordinates, by which a restart knows that it is done with. Where records change a
 * state its number is another one, see {@code UNTIMED} in {@code ksqlpy/spark/provenance.py}: its place among dead letters
 * orders no results. It says nothing of what a group had seen.
 */
final class DeadLetters {
  /** Added to the number of a result: {@code UNTIMED}. */
  static final long NO_RESULT = -(1L << 61);

  /** By so many bytes at most the length of a value is longer than that of an empty one, as a varint. */
  private static final int LENGTHS = 4;

  private static final byte[] NOTHING = {};

  private DeadLetters() {}

  /**
   * The record as it is to be sent: itself where it fits.
   *
   * @param record with all headers
   * @param most more bytes than it has
   * @param at mark and coordinates of a result, null without; they are of no header where the place is below 0
   * @param key by which the header of a dead letter is signed, null where it needs no tag
   */
  static ProducerRecord<byte[], byte[]> instead(
      ProducerRecord<byte[], byte[]> record, long most, byte[] at, Key key, Limits limits, Sizes sizes) {
    Limits.Topic topic = limits.topic(record.topic());
    boolean result = record.topic().equals(limits.results);
    if (topic == null || (result && (at == null || sizes.fits(most, topic)))) { // of a push query, or of usual size
      return record;
    }
    if (record.topic().equals(limits.dead)) {
      identify(record, limits);
    }
    long size = Sizes.of(record);
    String why = sizes.refusal(record, size, topic);
    if (why == null) {
      topic.sent(size);
      return record;
    }
    List<Header> had = new ArrayList<>();
    List<Header> own = new ArrayList<>();
    Header marked = result ? moved(at, key, limits) : record.headers().lastHeader(Coordinates.HEADER);
    divide(record, result ? null : limits.names.get("topic"), had, own);
    String reason = "too large: it has " + size + " bytes, " + why;
    if (result) {
      describe(record, at, limits, reason, own);
    } else if (!record.topic().equals(limits.dead)) { // a late record
      Header said = record.headers().lastHeader(limits.names.get("reason"));
      add(own, limits, "reason", (said == null ? "" : text(said) + "; ") + "for topic " + record.topic() + " " + reason);
    }
    ProducerRecord<byte[], byte[]> letter = cut(record, had, own, marked, limits, sizes);
    limits.topic(limits.dead).sent(Sizes.of(letter));
    return letter;
  }

  /** Says which topic of its name the record of a letter is from. */
  private static void identify(ProducerRecord<byte[], byte[]> record, Limits limits) {
    Header source = record.headers().lastHeader(limits.names.get("topic"));
    String id = source == null ? null : limits.ids.get(text(source));
    if (id != null) {
      record.headers().add(limits.names.get("topicId"), bytes(id));
    }
  }

  /** Headers that the record had, and those of a letter, which begin with the last one of this name; without coordinates. */
  private static void divide(
      ProducerRecord<byte[], byte[]> record, String first, List<Header> had, List<Header> own) {
    Header[] all = record.headers().toArray();
    int begin = all.length;
    for (int i = all.length - 1; i >= 0 && first != null && begin == all.length; i--) {
      begin = all[i].key().equals(first) ? i : begin;
    }
    for (int i = 0; i < all.length; i++) {
      if (!all[i].key().equals(Coordinates.HEADER)) {
        (i < begin ? had : own).add(all[i]);
      }
    }
  }

  private static void describe(
      ProducerRecord<byte[], byte[]> record, byte[] at, Limits limits, String reason, List<Header> own) {
    ByteBuffer from = ByteBuffer.wrap(at, Integer.BYTES, at.length - Integer.BYTES);
    long given = ByteUtils.readVarlong(from);
    int place = (int) (given < 0 ? -1 - given : given);
    long offset = ByteUtils.readVarlong(from);
    String source = limits.sources.get(place >>> 16);
    add(own, limits, "topic", source);
    add(own, limits, "partition", String.valueOf(place & 0xFFFF));
    add(own, limits, "offset", String.valueOf(offset));
    if (record.timestamp() != null) {
      add(own, limits, "timestamp", String.valueOf(record.timestamp()));
    }
    add(own, limits, "reason", reason);
    add(own, limits, "query", limits.query);
    add(own, limits, "result", record.topic());
    if (limits.ids.containsKey(source)) {
      add(own, limits, "topicId", limits.ids.get(source));
    }
  }

  /** The header with the coordinates of a result that is a dead letter; null without exactly_once. */
  private static Header moved(byte[] at, Key key, Limits limits) {
    ByteBuffer from = ByteBuffer.wrap(at);
    ByteBuffer to = ByteBuffer.allocate(at.length + Long.BYTES + 2);
    to.putInt(from.getInt());
    long place = ByteUtils.readVarlong(from);
    if (place < 0) {
      return null;
    }
    ByteUtils.writeVarlong(place, to);
    ByteUtils.writeVarlong(ByteUtils.readVarlong(from), to);
    ByteUtils.writeVarlong(ByteUtils.readVarlong(from) + (limits.moved ? NO_RESULT : 0), to);
    for (int i = 0; i < limits.tables && from.hasRemaining(); i++) {
      ByteUtils.writeVarlong(ByteUtils.readVarlong(from), to);
    }
    byte[] made = Arrays.copyOf(to.array(), to.position() + (key == null ? 0 : Key.TAG));
    if (key != null) {
      key.sign(made);
    }
    return new RecordHeader(Coordinates.HEADER, made);
  }

  /** The letter, whole if it fits; else less of its value, then without the headers that the record had, then less key. */
  private static ProducerRecord<byte[], byte[]> cut(
      ProducerRecord<byte[], byte[]> record,
      List<Header> had,
      List<Header> own,
      Header marked,
      Limits limits,
      Sizes sizes) {
    Limits.Topic topic = limits.topic(limits.dead);
    byte[] key = record.key();
    byte[] value = record.value();
    ProducerRecord<byte[], byte[]> whole = letter(record, limits.dead, key, value, had, own, marked);
    if (sizes.refusal(whole, Sizes.of(whole), topic) == null) {
      return whole;
    }
    add(own, limits, "cut", length(key) + ":" + length(value));
    byte[] none = value == null ? null : NOTHING;
    long room = sizes.room(topic) - LENGTHS;
    long left = room - Sizes.of(letter(record, limits.dead, key, none, had, own, marked));
    if (left < 0) {
      had.clear();
      left = room - Sizes.of(letter(record, limits.dead, key, none, had, own, marked));
    }
    if (left < 0 && key != null) {
      key = Arrays.copyOf(key, (int) Math.max(0, key.length + left));
      left = 0;
    }
    byte[] begin = value == null || value.length <= left ? value : Arrays.copyOf(value, (int) Math.max(0, left));
    return letter(record, limits.dead, key, begin, had, own, marked);
  }

  private static ProducerRecord<byte[], byte[]> letter(
      ProducerRecord<byte[], byte[]> of,
      String topic,
      byte[] key,
      byte[] value,
      List<Header> had,
      List<Header> own,
      Header marked) {
    List<Header> headers = new ArrayList<>(had);
    headers.addAll(own);
    if (marked != null) {
      headers.add(marked);
    }
    return new ProducerRecord<>(topic, null, of.timestamp(), key, value, headers);
  }

  private static int length(byte[] data) {
    return data == null ? -1 : data.length;
  }

  private static void add(List<Header> to, Limits limits, String name, String value) {
    to.add(new RecordHeader(limits.names.get(name), bytes(value)));
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static String text(Header header) {
    return header.value() == null ? "" : new String(header.value(), StandardCharsets.UTF_8);
  }
}
