package ksqlpy.tasks;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** How far queries have written their topics. */
final class UpstreamTest {
  private static final long NOW = 1_700_000_000_000L;

  private static Upstream.Writer only(String topic, String reader) {
    Upstream.Writer[] found = Upstream.writers(topic, reader);
    assertEquals(1, found.length);
    return found[0];
  }

  /** It has written what came of records before this time, and no more. */
  private static void await(Upstream.Writer writer, long time) throws InterruptedException {
    until(() -> writer.done().holds(time, NOW));
    assertFalse(writer.done().holds(time + 1, NOW));
  }

  private static void until(BooleanSupplier holds) throws InterruptedException {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
    while (!holds.getAsBoolean() && System.nanoTime() < end) {
      Thread.sleep(5);
    }
    assertTrue(holds.getAsBoolean());
  }

  @AfterEach
  void end() {
    for (String query : new String[] {"FIRST", "SECOND", "THIRD"}) {
      Upstream.ends(query);
    }
  }

  @Test
  void aQueryHasWrittenWhatAllItsTasksHaveRead() throws InterruptedException {
    Upstream.writes("FIRST", "a", "b");
    Upstream.Writer writer = only("b", "OTHER");
    writer.watch(true);
    assertFalse(writer.done().holds(0, NOW));
    Upstream.Reader one = Upstream.reader("FIRST", "life 1", 2);
    assertTrue(one.isWatched());
    one.reads(100);
    Upstream.Reader two = Upstream.reader("FIRST", "life 1", 2);
    two.reads(50);
    await(writer, 50);
    two.reads(200);
    await(writer, 100);
    writer.watch(false);
  }

  @Test
  void aQueryThatHasReadAllHasWrittenWhatThereWasAtThatMoment() throws InterruptedException {
    Upstream.writes("FIRST", "a", "b");
    Upstream.Writer writer = only("b", "OTHER");
    writer.watch(true);
    Upstream.Reader reader = Upstream.reader("FIRST", "life 1", 1);
    reader.hasRead(new Upstream.Point(Long.MAX_VALUE, NOW));
    until(() -> writer.done().holds(100, NOW));
    assertTrue(writer.done().holds(NOW + 5_000, NOW));
    assertFalse(writer.done().holds(100, NOW + 1_000)); // more of any time may have come since
    reader.reads(50);
    until(() -> writer.done().holds(50, NOW + 1_000));
    assertFalse(writer.done().holds(100, NOW + 1_000));
    writer.watch(false);
  }

  @Test
  void aTaskThatReadAllLongAgoMayBeBehindOneThatReads() throws InterruptedException {
    Upstream.writes("FIRST", "a", "b");
    Upstream.Writer writer = only("b", "OTHER");
    writer.watch(true);
    Upstream.Reader idle = Upstream.reader("FIRST", "life 1", 2);
    idle.hasRead(new Upstream.Point(Long.MAX_VALUE, NOW - 5_000));
    Upstream.reader("FIRST", "life 1", 2).reads(100);
    Thread.sleep(300);
    assertFalse(writer.done().holds(50, NOW));
    idle.hasRead(new Upstream.Point(Long.MAX_VALUE, NOW));
    await(writer, 100);
    writer.watch(false);
  }

  @Test
  void whatIsWrittenByTwoIsWhatEachHasWritten() {
    Upstream.Point lags = new Upstream.Point(100, Long.MAX_VALUE);
    Upstream.Point atEnd = new Upstream.Point(Long.MAX_VALUE, NOW);
    assertTrue(lags.and(atEnd).holds(100, NOW));
    assertFalse(lags.and(atEnd).holds(101, NOW));
    assertFalse(lags.and(atEnd).holds(100, NOW + 1_000));
    assertFalse(lags.and(Upstream.Point.NONE).holds(0, NOW));
    assertTrue(lags.and(Upstream.Point.ALL).holds(100, NOW + 1_000));
  }

  @Test
  void rowsThatOneThreadHandsToAnotherAreWaitedFor() throws InterruptedException {
    Upstream.writes("FIRST", "a", "b");
    Upstream.Writer writer = only("b", "OTHER");
    writer.watch(true);
    Progress batch = new Progress("FIRST", 1);
    Progress.OF.put("FIRST", batch);
    try {
      Handed handed = Handed.of(batch);
      Upstream.Reader reader = Upstream.reader("FIRST", "life 1", 1);
      handed.add(50);
      reader.hasRead(new Upstream.Point(Long.MAX_VALUE, NOW));
      Thread.sleep(300);
      assertFalse(writer.done().holds(50, NOW));
      handed.done();
      until(() -> writer.done().holds(50, NOW));
    } finally {
      Progress.OF.remove("FIRST", batch);
    }
    writer.watch(false);
  }

  @Test
  void resultsOnTheirWayAreWaitedFor() throws InterruptedException {
    Upstream.writes("FIRST", "a", "b");
    Upstream.Writer writer = only("b", "OTHER");
    writer.watch(true);
    Upstream.Sink sink = Upstream.sink("FIRST");
    Upstream.Reader reader = Upstream.reader("FIRST", "life 1", 1);
    sink.sends();
    reader.reads(100);
    Thread.sleep(300);
    assertFalse(writer.done().holds(0, NOW));
    sink.answers();
    await(writer, 100);
    sink.close();
    writer.watch(false);
  }

  @Test
  void anotherLifeOfAQueryBeginsWithOtherTasks() throws InterruptedException {
    Upstream.writes("FIRST", "a", "b");
    Upstream.Writer writer = only("b", "OTHER");
    writer.watch(true);
    Upstream.reader("FIRST", "life 1", 1).reads(100);
    await(writer, 100);
    Upstream.writes("FIRST", "a", "b");
    Upstream.Reader again = Upstream.reader("FIRST", "life 2", 1);
    assertFalse(writer.done().holds(0, NOW));
    again.reads(50);
    await(writer, 50);
    writer.watch(false);
  }

  @Test
  void nobodyWaitsForAQueryThatWasStopped() {
    Upstream.writes("FIRST", "a", "b");
    Upstream.Writer writer = only("b", "OTHER");
    Upstream.ends("FIRST");
    assertTrue(writer.done().holds(100, NOW));
    assertEquals(0, Upstream.writers("b", "OTHER").length);
  }

  @Test
  void aQueryThatFailsIsNotWaitedForForEver() throws InterruptedException {
    Upstream.writes("FIRST", "a", "b");
    Upstream.Writer writer = only("b", "OTHER");
    Upstream.fails("FIRST", 60_000);
    assertFalse(writer.done().holds(100, NOW));
    Upstream.fails("FIRST", 1); // since it failed first
    Thread.sleep(20);
    assertTrue(writer.done().holds(100, NOW));
    Upstream.fails("FIRST", -1);
    assertFalse(writer.done().holds(100, NOW));
  }

  @Test
  void queriesThatReadEachOtherDoNotWaitForEachOther() {
    Upstream.writes("FIRST", "a", "b");
    Upstream.writes("SECOND", "b\nc", "d");
    Upstream.writes("THIRD", "d", "b");
    assertEquals(1, Upstream.writers("b", "SECOND").length); // the third reads what the second writes
    assertEquals(2, Upstream.writers("b", "OTHER").length);
    assertEquals(0, Upstream.writers("d", "THIRD").length);
  }
}
