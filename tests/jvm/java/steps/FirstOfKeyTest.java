package ksqlpy.steps;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.util.List;
import org.junit.jupiter.api.Test;

final class FirstOfKeyTest {
  private static final String COLUMNS = "__key STRUCT<k: STRING>, __result STRUCT<v: STRING>, tag BIGINT";

  private static List<String> row(Feed feed, String key, String value, long tag) {
    return feed.take(0, "__key", new Object[] {key}, "__result", new Object[] {value}, "tag", tag, "__ts", tag);
  }

  @Test
  void onlyTheFirstRowOfAKeyComesOutAlsoAfterACheckpoint() throws IOException {
    FirstOfKey step = new FirstOfKey(1, new int[] {}, new String[] {"tag"});
    try (Feed feed = new Feed(step, COLUMNS, "__result", "tag")) {
      assertEquals(List.of("a1 1"), row(feed, "a", "a1", 1));
      assertEquals(List.of(), row(feed, "a", "a2", 2));
      feed.nextBatch();
      assertEquals(List.of(), row(feed, "a", "a3", 3));
      assertEquals(List.of("b1 4"), row(feed, "b", "b1", 4));
    }
  }
}
