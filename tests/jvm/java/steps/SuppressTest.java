package ksqlpy.steps;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import ksqlpy.functions.Counter;
import org.junit.jupiter.api.Test;

final class SuppressTest {
  private static final String COLUMNS =
      "__key STRUCT<k: STRING, w: BIGINT>, __end BIGINT, __del BOOLEAN, __result STRUCT<v: STRING>";

  /** Of windows that begin every 10 ms. */
  private static Feed finals(long grace, long idle, boolean forgetful, String query) throws IOException {
    return new Feed(
        new Suppress(1, new int[] {}, 10, grace, idle, forgetful ? grace : -1, 0, query), COLUMNS, "__result");
  }

  private static List<String> row(Feed feed, int lane, String key, long end, long time, String result) {
    return row(feed, lane, key, end, time, result, false);
  }

  private static List<String> row(Feed feed, int lane, String key, long end, long time, String result, boolean gone) {
    return feed.take(
        lane, "__key", new Object[] {key, end}, "__end", end, "__ts", time, "__del", gone, "__result",
        new Object[] {result});
  }

  @Test
  void theLastResultComesOnceAndInTheOrderOfEnds() throws IOException {
    try (Feed feed = finals(0, 0, false, "s1")) {
      assertEquals(List.of(), row(feed, 0, "a", 9, 1, "a one"));
      assertEquals(List.of(), row(feed, 0, "b", 8, 2, "b one"));
      assertEquals(List.of(), row(feed, 0, "a", 9, 3, "a two"));
      assertEquals(List.of("b one", "a two"), row(feed, 0, "z", 20, 9, "z"));
      assertEquals(List.of("z"), row(feed, 0, "z", 90, 80, "z"));
    }
  }

  @Test
  void graceIsWaitedForAndWhatComesLaterIsCounted() throws IOException {
    try (Feed feed = finals(5, 0, false, "s2")) {
      row(feed, 0, "a", 10, 1, "one");
      assertEquals(List.of(), row(feed, 0, "z", 20, 14, "z"));
      row(feed, 0, "a", 10, 2, "two");
      assertEquals(List.of("two"), row(feed, 0, "z", 20, 15, "z"));
      assertEquals(List.of(), row(feed, 0, "a", 10, 3, "three"));
      assertEquals(1, Counter.count("s2:late"));
    }
  }

  @Test
  void aWindowThatIsGoneGivesNothing() throws IOException {
    try (Feed feed = finals(0, 0, false, "s3")) {
      row(feed, 0, "a", 10, 1, "one");
      row(feed, 0, "a", 10, 2, null, true);
      assertEquals(List.of(), row(feed, 0, "z", 30, 25, "z"));
    }
  }

  @Test
  void theFirstRowOfTheNextBatchClosesWindows() throws IOException {
    try (Feed feed = finals(0, 0, false, "s4")) {
      row(feed, 0, "a", 10, 1, "one");
      assertEquals(List.of(), feed.nextBatch());
      assertEquals(List.of("one"), row(feed, 0, "z", 20, 12, "z"));
    }
  }

  @Test
  void eachPartitionHasItsOwnTime() throws IOException {
    try (Feed feed = finals(0, 0, false, "s5")) {
      row(feed, 1, "a", 10, 1, "one");
      assertEquals(List.of(), row(feed, 0, "z", 20, 12, "z"));
      assertEquals(List.of("one"), row(feed, 1, "y", 20, 12, "y"));
    }
  }

  @Test
  void aWindowThatOnePartitionHasClosedStaysClosedForAnotherThatIsBehind() throws IOException {
    try (Feed feed = finals(0, 0, false, "s9")) {
      row(feed, 1, "y", 10, 1, "y");
      row(feed, 0, "a", 10, 2, "one");
      assertEquals(List.of("one"), row(feed, 0, "z", 30, 25, "z"));
      assertEquals(List.of(), row(feed, 1, "a", 10, 3, "two"));
      assertEquals(List.of("y"), row(feed, 1, "y", 50, 45, "y"));
      assertEquals(1, Counter.count("s9:late"));
    }
  }

  @Test
  void aForgetfulStoreLosesWhatEndedBeforeTheNewestWindow() throws IOException {
    for (boolean forgetful : new boolean[] {false, true}) {
      try (Feed feed = finals(0, 0, forgetful, "s6")) {
        row(feed, 0, "a", 10, 1, "a");
        assertEquals(List.of("a"), row(feed, 0, "b", 20, 19, "b"));
        assertEquals(forgetful ? List.of() : List.of("b"), row(feed, 0, "c", 40, 35, "c"));
      }
    }
  }

  @Test
  void aForgetfulStoreOfSessionsLosesWholePieces() throws IOException {
    Step step = new Suppress(1, new int[] {}, 10, 11, 0, 10, 100, "s10");
    try (Feed feed = new Feed(step, COLUMNS, "__result")) {
      row(feed, 0, "a", 150, 150, "a");
      assertEquals(List.of("a"), row(feed, 0, "b", 205, 205, "b"));
      assertEquals(List.of(), row(feed, 0, "c", 410, 410, "c"));
    }
  }

  @Test
  void theClockClosesWindowsWhereNoRowCame() throws Exception {
    try (Feed feed = finals(0, 1, false, "s7")) {
      row(feed, 0, "a", 10, 1, "one");
      Thread.sleep(3);
      assertEquals(List.of("one"), feed.nextBatch());
      Thread.sleep(3);
      assertEquals(List.of(), feed.nextBatch());
    }
  }

  @Test
  void theTimeWithoutARowGoesOnFromBatchToBatch() throws Exception {
    try (Feed feed = finals(0, 400, false, "s8")) {
      row(feed, 0, "a", 10, 1, "one");
      List<String> given = new ArrayList<>();
      for (int n = 0; n < 5; n++) {
        Thread.sleep(100);
        given.addAll(feed.nextBatch());
      }
      assertEquals(List.of("one"), given);
    }
  }
}
