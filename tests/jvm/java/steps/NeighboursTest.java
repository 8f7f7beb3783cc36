package ksqlpy.steps;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

final class NeighboursTest {
  private static final String COLUMNS = "__key STRUCT<k: STRING>, __result STRUCT<v: STRING>, tag BIGINT";

  private static Feed neighbours(int... offsets) throws IOException {
    List<String> shown = new ArrayList<>(List.of("__result"));
    for (int i = 0; i < offsets.length; i++) {
      shown.add("__near" + i);
    }
    shown.add("tag");
    return new Feed(
        new Neighbours(1, new int[] {}, offsets, new String[] {"tag"}), COLUMNS, shown.toArray(String[]::new));
  }

  private static List<String> row(Feed feed, String key, String value, long tag) {
    return feed.take(0, "__key", new Object[] {key}, "__result", new Object[] {value}, "tag", tag, "__ts", tag);
  }

  @Test
  void aRowThatLooksBackComesAtOnce() throws IOException {
    try (Feed feed = neighbours(-1)) {
      assertEquals(List.of("a1 - 1"), row(feed, "a", "a1", 1));
      assertEquals(List.of("b1 - 2"), row(feed, "b", "b1", 2));
      feed.nextBatch();
      assertEquals(List.of("a2 a1 3"), row(feed, "a", "a2", 3));
    }
  }

  @Test
  void aRowThatLooksAheadComesWithTheRowThatItWaitsFor() throws IOException {
    try (Feed feed = neighbours(1, -1)) {
      assertEquals(List.of(), row(feed, "a", "a1", 1));
      feed.nextBatch();
      assertEquals(List.of("a1 a2 - 2"), row(feed, "a", "a2", 2));
      assertEquals(List.of("a2 a3 a1 3"), row(feed, "a", "a3", 3));
    }
  }

  @Test
  void randomRowsAreAsInAList() throws IOException {
    Random random = new Random(7);
    for (int[] offsets : new int[][] {{-3}, {2}, {-2, -5}, {1, -1, 3}, {-1, 4, 2}}) {
      int ahead = 0;
      for (int offset : offsets) {
        ahead = Math.max(ahead, offset);
      }
      Map<String, List<String>> all = new HashMap<>();
      try (Feed feed = neighbours(offsets)) {
        for (int tag = 0; tag < 400; tag++) {
          String key = "k" + random.nextInt(4);
          List<String> rows = all.computeIfAbsent(key, k -> new ArrayList<>());
          rows.add(key + "/" + tag);
          List<String> expected = new ArrayList<>();
          int at = rows.size() - 1 - ahead;
          if (at >= 0) {
            StringBuilder text = new StringBuilder(rows.get(at));
            for (int offset : offsets) {
              text.append(' ').append(at + offset < 0 ? "-" : rows.get(at + offset));
            }
            expected.add(text + " " + tag);
          }
          assertEquals(expected, row(feed, key, key + "/" + tag, tag));
          if (random.nextInt(50) == 0) {
            feed.nextBatch();
          }
        }
      }
    }
  }
}
