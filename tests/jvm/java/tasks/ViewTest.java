package ksqlpy.tasks;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** What {@link Progress} makes of what other executors say. */
final class ViewTest {
  private static final long FRESH = System.nanoTime() + TimeUnit.MINUTES.toNanos(5);
  private static final long OLD = System.nanoTime() - 1;
  private static final long NONE = Long.MAX_VALUE;

  private final Progress progress = new Progress("b", "q", 2, 500, View.UNKNOWN);
  private final Progress.Own own = progress.own(1, 0, 100); // behind a second shuffle

  private void sees(long older, long covered, long until) {
    progress.sees(new View(new long[][] {{NONE, older}, {NONE, NONE}}, covered, until));
  }

  @Test
  void anOldRowWaitsForAViewThatKnowsOfAllThatWasOnItsWay() {
    assertFalse(own.isNext(1_000, 7));
    sees(NONE, 7, FRESH);
    assertFalse(own.isNext(1_000, 7));
    sees(NONE, 8, FRESH);
    assertTrue(own.isNext(1_000, 7));
  }

  @Test
  void anOldRowWaitsForTheOlderOneOfAnotherExecutor() {
    sees(900, 8, FRESH);
    assertFalse(own.isNext(1_000, 7));
    assertTrue(own.isNext(900, 7));
  }

  @Test
  void aRowOfTheLastSecondNeedsAFreshViewOnly() {
    long now = System.currentTimeMillis() + 60_000; // so that it stays live
    sees(now - 500, 0, OLD);
    assertFalse(own.isNext(now, 7));
    sees(now - 500, 0, FRESH);
    assertTrue(own.isNext(now, 7));
    sees(now - 2_000, 0, FRESH);
    assertFalse(own.isNext(now, 7)); // it is behind by more than a second
  }

  @Test
  void aRowWaitsForThoseThatAnotherExecutorHasSentBefore() {
    sees(NONE, 8, FRESH);
    progress.stage(1).sent[1][0].sentElsewhere(2);
    assertFalse(own.isNext(1_000, 7));
    own.takes(1);
    assertTrue(own.isNext(1_000, 7)); // what comes behind a row that is here is not older
    own.done(1);
    assertFalse(own.isNext(1_000, 7));
    own.takes(1);
    own.done(1);
    assertTrue(own.isNext(1_000, 7));
  }

  @Test
  void whatAnotherExecutorHasDoneIsNotWaitedFor() {
    progress.sender(0, 0).sent(1, 500);
    sees(NONE, 8, FRESH);
    assertFalse(own.isNext(1_000, 7));
    assertTrue(progress.stage(0).sent[0][1].removeUpTo(1));
    assertTrue(own.isNext(1_000, 7));
    assertFalse(progress.stage(0).sent[0][1].removeUpTo(1));
  }
}
