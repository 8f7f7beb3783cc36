package ksqlpy.steps;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.util.List;
import ksqlpy.functions.Counter;
import ksqlpy.internals.States;
import org.junit.jupiter.api.Test;

final class SessionTest {
  private static final String COLUMNS = "__key STRUCT<k: STRING>, v STRING, tag BIGINT";

  /** Of a gap of 10 ms. */
  private static Feed sessions(long grace, String query) throws IOException {
    String[] names = {"__ws", "__we", "__del"};
    Step step =
        new Session(
            1, new int[] {}, 10, grace, query, States.aggregation(Feed.input(COLUMNS), "v"), names,
            new String[] {"tag"});
    return new Feed(step, COLUMNS, "__key", "__ws", "__we", "__del", "n", "all");
  }

  private static List<String> row(Feed feed, int lane, String key, long time) {
    return feed.take(lane, "__key", new Object[] {key}, "v", key + time, "__ts", time);
  }

  @Test
  void aSessionThatGrowsIsRemovedUnderItsOldBounds() throws IOException {
    try (Feed feed = sessions(100, "q1")) {
      assertEquals(List.of("a 0 0 false 1 [a0]"), row(feed, 0, "a", 0));
      assertEquals(List.of("a 0 0 true - -", "a 0 10 false 2 [a0,a10]"), row(feed, 0, "a", 10));
      assertEquals(List.of("b 10 10 false 1 [b10]"), row(feed, 0, "b", 10));
      assertEquals(List.of("a 21 21 false 1 [a21]"), row(feed, 0, "a", 21));
    }
  }

  @Test
  void aRowOfTheSameBoundsNeedsNoTombstone() throws IOException {
    try (Feed feed = sessions(100, "q2")) {
      row(feed, 0, "a", 5);
      assertEquals(List.of("a 5 5 false 2 [a5,a5]"), row(feed, 0, "a", 5));
    }
  }

  @Test
  void aRowMergesAllSessionsThatItReaches() throws IOException {
    try (Feed feed = sessions(100, "q3")) {
      row(feed, 0, "a", 0);
      row(feed, 0, "a", 20);
      row(feed, 0, "a", 40);
      feed.nextBatch();
      assertEquals(
          List.of("a 0 0 true - -", "a 20 20 true - -", "a 0 20 false 3 [a0,a20,a10]"), row(feed, 0, "a", 10));
      assertEquals(
          List.of("a 0 20 true - -", "a 40 40 true - -", "a 0 40 false 5 [a0,a20,a10,a40,a30]"),
          row(feed, 0, "a", 30));
    }
  }

  @Test
  void aRowThatIsLateIsCountedAndOneThatIsNotIsTaken() throws IOException {
    try (Feed feed = sessions(5, "q4")) {
      row(feed, 0, "a", 100);
      assertEquals(List.of(), row(feed, 0, "b", 84));
      assertEquals(1, Counter.count("q4:late"));
      assertEquals(List.of("b 85 85 false 1 [b85]"), row(feed, 0, "b", 85));
      assertEquals(List.of("b 3 3 false 1 [b3]"), row(feed, 1, "b", 3), "of another partition, with its own time");
      assertEquals(1, Counter.count("q4:late"));
    }
  }

  @Test
  void aSessionThatHasClosedIsNotReachedAnyMore() throws IOException {
    try (Feed feed = sessions(0, "q5")) {
      row(feed, 0, "a", 0);
      row(feed, 0, "z", 11);
      assertEquals(List.of("a 10 10 false 1 [a10]"), row(feed, 0, "a", 10));
    }
  }

  @Test
  void resultsHaveWhatTheirRowCarriesAndTheTimeOfTheSession() throws IOException {
    String[] names = {"__ws", "__we", "__del"};
    Step step =
        new Session(
            1, new int[] {}, 10, 100, "q6", States.aggregation(Feed.input(COLUMNS), "v"), names, new String[] {"tag"});
    try (Feed feed = new Feed(step, COLUMNS, "__we", "__del", "__ts", "tag")) {
      assertEquals(
          List.of("5 false 5 7"), feed.take(0, "__key", new Object[] {"a"}, "v", "x", "__ts", 5, "tag", 7));
      assertEquals(
          List.of("5 true 5 8", "5 false 5 8"), feed.take(0, "__key", new Object[] {"a"}, "v", "y", "__ts", 2, "tag", 8));
    }
  }

  @Test
  void aRowThatIsLateComesOutWhereThatIsAskedFor() throws IOException {
    String[] names = {"__ws", "__we", "__del", "__late"};
    Step step =
        new Session(1, new int[] {}, 10, 5, "q7", States.aggregation(Feed.input(COLUMNS), "v"), names, new String[] {"tag"});
    try (Feed feed = new Feed(step, COLUMNS, "__key", "__ws", "__del", "__late", "n", "__ts", "tag")) {
      assertEquals(List.of("a 100 false - 1 100 7"), feed.take(0, "__key", new Object[] {"a"}, "v", "x", "__ts", 100, "tag", 7));
      assertEquals(List.of("- - - 100 - 84 8"), feed.take(0, "__key", new Object[] {"b"}, "v", "y", "__ts", 84, "tag", 8));
      assertEquals(1, Counter.count("q7:late"));
    }
  }
}
