package ksqlpy.steps;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import ksqlpy.internals.StepState;
import org.junit.jupiter.api.Test;

final class JoinTest {
  private static final String COLUMNS =
      "__key STRUCT<k: STRING>, __side TINYINT, __left STRUCT<v: STRING>, __right STRUCT<v: STRING>";

  /** {@code kind}: of which sides rows come out without a partner; the bounds are 10 ms to both sides. */
  private static Feed join(long grace, String kind) throws IOException {
    Step step = new Join(1, new int[] {}, 10, 10, grace, kind.contains("left"), kind.contains("right"));
    return new Feed(step, COLUMNS, "__left", "__right", "__ts");
  }

  private static List<String> left(Feed feed, int lane, String key, long time) {
    return feed.take(lane, "__key", new Object[] {key}, "__side", 0, "__left", new Object[] {key + time}, "__ts", time);
  }

  private static List<String> right(Feed feed, int lane, String key, long time) {
    return feed.take(lane, "__key", new Object[] {key}, "__side", 1, "__right", new Object[] {key + time}, "__ts", time);
  }

  @Test
  void bothBoundsAreWithin() throws IOException {
    try (Feed feed = join(100, "")) {
      assertEquals(List.of(), left(feed, 0, "a", 20));
      assertEquals(List.of("a20 a30 30"), right(feed, 0, "a", 30));
      assertEquals(List.of(), right(feed, 0, "a", 31));
      assertEquals(List.of("a20 a10 20"), right(feed, 0, "a", 10));
      assertEquals(List.of(), right(feed, 0, "a", 9));
      assertEquals(List.of(), right(feed, 0, "b", 20));
    }
  }

  @Test
  void withoutGraceARowWithoutAPartnerComesAtOnce() throws IOException {
    try (Feed feed = join(-1, "left")) {
      assertEquals(List.of("a0 - 0"), left(feed, 0, "a", 0));
      assertEquals(List.of("a0 a5 5"), right(feed, 0, "a", 5));
      assertEquals(List.of("a5 a5 5"), left(feed, 0, "a", 5));
    }
  }

  @Test
  void aRowWithANullKeyComesAtOnceAndMovesNoTime() throws IOException {
    try (Feed feed = join(5, "left")) {
      assertEquals(List.of("null90 - 90"), left(feed, 0, null, 90));
      assertEquals(List.of(), left(feed, 0, "a", 0));
      assertEquals(List.of("null20 - 20"), left(feed, 0, null, 20));
      assertEquals(List.of(), right(feed, 0, "z", 15));
      assertEquals(List.of("a0 - 0"), right(feed, 0, "z", 16));
    }
  }

  @Test
  void theRowsOfASideAreKeptByItsOwnTime() throws IOException {
    try (Feed feed = join(5, "right")) {
      left(feed, 0, "z", 100);
      assertEquals(List.of("- b50 50"), right(feed, 0, "b", 50));
      feed.nextBatch();
      assertEquals(List.of("b50 b50 50"), left(feed, 0, "b", 50));
      assertEquals(List.of(), left(feed, 0, "c", 60));
      assertEquals(List.of("- c60 60"), right(feed, 0, "c", 60));
      right(feed, 0, "z", 200);
      assertEquals(List.of(), left(feed, 0, "b", 50));
    }
  }

  @Test
  void withGraceItComesWhenItsWindowHasClosed() throws IOException {
    try (Feed feed = join(5, "left")) {
      assertEquals(List.of(), left(feed, 0, "a", 0));
      assertEquals(List.of(), left(feed, 0, "b", 3));
      assertEquals(List.of("b3 b4 4"), right(feed, 0, "b", 4));
      assertEquals(List.of(), right(feed, 0, "z", 15));
      assertEquals(List.of("a0 - 0"), right(feed, 0, "z", 16));
      assertEquals(List.of(), right(feed, 0, "z", 40));
    }
  }

  @Test
  void windowsThatCloseTogetherComeInTheOrderOfTimeAndOfOneTimeTheRightOnesFirst() throws IOException {
    try (Feed feed = join(0, "left right")) {
      left(feed, 0, "a", 2);
      right(feed, 0, "c", 2);
      left(feed, 0, "b", 1);
      right(feed, 0, "d", 3);
      assertEquals(List.of("b1 - 1", "- c2 2", "a2 - 2", "- d3 3"), right(feed, 0, "z", 100));
    }
  }

  @Test
  void closingLooksPastTheRowsOfOtherPartitions() throws IOException {
    try (Feed feed = join(0, "left right")) {
      right(feed, 1, "p", 18);
      left(feed, 0, "e", 15);
      right(feed, 0, "x", 20);
      left(feed, 0, "y", 25);
      assertEquals(List.of("e15 - 15"), left(feed, 0, "q", 26));
      assertEquals(List.of("- x20 20"), left(feed, 0, "r", 31));
    }
  }

  @Test
  void theNextBatchKnowsWhatIsOpen() throws IOException {
    try (Feed feed = join(0, "left")) {
      left(feed, 0, "a", 0);
      left(feed, 0, "c", 8);
      assertEquals(List.of(), feed.nextBatch());
      assertEquals(List.of(), left(feed, 0, "b", 5));
      assertEquals(List.of("a0 - 0"), right(feed, 0, "z", 11));
    }
  }

  @Test
  void ofOneKeyAndTimeTheRowsThatWaitComeWhenTheWindowHasClosedTheOthersOnce() throws IOException {
    try (Feed feed = join(100, "left")) {
      assertEquals(List.of(), left(feed, 0, "a", 0));
      assertEquals(List.of(), left(feed, 0, "z", 50));
      assertEquals(List.of("a0 - 0"), left(feed, 0, "a", 0));
      assertEquals(List.of("a0 - 0"), left(feed, 0, "a", 0));
      feed.nextBatch();
      assertEquals(List.of("a0 - 0"), left(feed, 0, "a", 0));
      assertEquals(List.of("a0 - 0"), right(feed, 0, "q", 111));
    }
  }

  @Test
  void soOfSeveralPartitions() throws IOException {
    try (Feed feed = join(100, "left")) {
      assertEquals(List.of(), left(feed, 1, "z", 50));
      assertEquals(List.of("a0 - 0"), left(feed, 1, "a", 0));
      assertEquals(List.of(), left(feed, 0, "a", 0));
      assertEquals(List.of("a0 - 0"), left(feed, 1, "a", 0));
      assertEquals(List.of(), left(feed, 0, "a", 0));
      assertEquals(List.of("a0 - 0", "a0 - 0"), right(feed, 0, "q", 111));
      assertEquals(List.of("z50 - 50"), right(feed, 1, "q", 161));
    }
  }

  @Test
  void ofVeryManyRowsOfOneKeyAndTimeNoneIsLostAndNoneComesTwice() throws IOException {
    try (Feed feed = join(100, "left")) {
      assertEquals(List.of(), left(feed, 0, "a", 0));
      assertEquals(List.of(), left(feed, 0, "z", 50));
      int atOnce = 0;
      for (int n = 1; n < 100; n++) {
        atOnce += left(feed, 0, "a", 0).size();
      }
      assertEquals(62, atOnce);
      assertEquals(100 - atOnce, right(feed, 0, "q", 111).size());
    }
  }

  @Test
  void aKeyWithVeryManyRowsGivesThemInTheOrderOfTheirTime() throws IOException {
    try (Feed feed = join(10_000, "")) {
      List<String> wanted = new ArrayList<>();
      for (int n = 0; n < 2000; n++) {
        left(feed, 0, "hot", n % 20); // several of one time
      }
      IntStream.range(0, 20).forEach(t -> IntStream.range(0, 100).forEach(n -> wanted.add("hot" + t + " hot9 " + Math.max(t, 9))));
      assertEquals(wanted, right(feed, 0, "hot", 9));
    }
  }

  @Test
  void whatNoPartnerCanFindGoes() throws IOException {
    try (Feed feed = join(5, "")) {
      left(feed, 0, "a", 0);
      left(feed, 0, "a", 0);
      right(feed, 0, "b", 1);
      left(feed, 0, "c", 5000);
      right(feed, 0, "d", 5000);
      feed.nextBatch();
      assertEquals(1, size(feed, "rows0", true));
      assertEquals(1, size(feed, "rows1", true));
      assertEquals(2, size(feed, "times0", false) + size(feed, "times1", false));
    }
  }

  private static int size(Feed feed, String family, boolean several) {
    StepState state = feed.states().state();
    AtomicInteger size = new AtomicInteger();
    (several ? state.byKeyThenTime(family, true) : state.byTimeThenKey(family))
        .each(
            Long.MIN_VALUE,
            1,
            row -> {
              size.incrementAndGet();
              return true;
            });
    return size.get();
  }
}
