package ksqlpy.source;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.BitSet;
import org.apache.kafka.common.TopicPartition;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Which record a task works on, in a file that is there when this JVM has died: {@code ksqlpy/spark/working.py} reads it.
 * It is mapped into memory, so that it costs some ns a record. For the thread of the task.
 */
public final class Working implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(Working.class);

  /** Bytes of each place: its state, partition, offset, time in ms, lengths and texts of query and topic. */
  private static final int SIZE = 1024;

  private static final int PLACES = 4096;
  private static final int PARTITION = 4;
  private static final int OFFSET = 8;
  private static final int TIME = 16;
  private static final int QUERY = 24;
  private static final int TOPIC = 512;
  private static final int LONGEST = 400;

  private static final int NOTHING = 0;
  private static final int WORKS = 1;
  private static final int WAITS = 2;

  /** Its task ended while it worked on the record. */
  private static final int LEFT = 3;

  private static final MappedByteBuffer FILE = open(System.getProperty("ksqlpy.working"));
  private static final BitSet USED = new BitSet();
  private static final ThreadLocal<Working> HERE = new ThreadLocal<>();

  private final int place;
  private TopicPartition read;
  private int state = NOTHING;

  /** Of a task of this query. */
  Working(String query) {
    place = FILE == null ? -1 : take();
    if (place >= 0) {
      write(QUERY, query);
    }
  }

  private static MappedByteBuffer open(String file) {
    if (file == null) {
      return null;
    }
    try (RandomAccessFile opened = new RandomAccessFile(file, "rw")) {
      opened.write(new byte[SIZE * PLACES]); // a hole in it would be a fault of the memory when the disk is full
      return opened.getChannel().map(FileChannel.MapMode.READ_WRITE, 0, (long) SIZE * PLACES);
    } catch (IOException e) {
      LOG.warn("which records are worked on is not noted: {}", e.toString());
      return null;
    }
  }

  private static int take() {
    synchronized (USED) {
      int free = USED.nextClearBit(0);
      if (free >= PLACES) {
        return -1;
      }
      USED.set(free);
      return free * SIZE;
    }
  }

  private void write(int at, String text) {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    byte[] given = bytes.length <= LONGEST ? bytes : Arrays.copyOf(bytes, LONGEST);
    ByteBuffer to = FILE.duplicate().position(place + at);
    to.putInt(given.length);
    to.put(given);
  }

  private void become(int next) {
    FILE.putInt(place, next);
    state = next;
  }

  /** It works on this record, and is done with the one before. */
  void on(TopicPartition from, long offset) {
    if (place < 0) {
      return;
    }
    if (from != read) {
      become(NOTHING);
      FILE.putInt(place + PARTITION, from.partition());
      write(TOPIC, from.topic());
      read = from;
    }
    FILE.putLong(place + OFFSET, offset);
    if (state != WORKS) {
      become(WORKS);
      HERE.set(this);
    }
  }

  /** The present thread has handed its record to another one, which works on earlier ones still: it waits for that. */
  public static void handsOver() {
    Working here = HERE.get();
    if (here != null) {
      here.waits();
    }
  }

  /** It waits for the next record. */
  void waits() {
    if (place >= 0 && state == WORKS) {
      FILE.putLong(place + TIME, System.currentTimeMillis());
      become(WAITS);
    }
  }

  /** Its task has ended. */
  void rests() {
    if (place >= 0 && state == WORKS) {
      FILE.putLong(place + TIME, System.currentTimeMillis());
      become(LEFT);
    }
  }

  @Override
  public void close() {
    if (place < 0) {
      return;
    }
    become(NOTHING);
    synchronized (USED) {
      USED.clear(place / SIZE);
    }
  }
}
