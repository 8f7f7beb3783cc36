package ksqlpy.steps;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

final class RankingTest {
  private static final String COLUMNS =
      "__key STRUCT<k: STRING>, __result STRUCT<a: BIGINT, b: STRING, v: STRING>, tag BIGINT";

  /** By {@code a}, the highest first, then by {@code b}. */
  private static Feed ranking(int limit, boolean nullsFirst) throws IOException {
    boolean[] nulls = {nullsFirst, true};
    Step step = new Ranking(1, new int[] {}, limit, new boolean[] {true, false}, nulls, new String[] {"tag"});
    return new Feed(step, COLUMNS, "__rank", "__result", "__ts", "tag");
  }

  private static List<String> row(Feed feed, String key, Long a, String b, long time) {
    return feed.take(
        0, "__key", new Object[] {key}, "__result", new Object[] {a, b, key + time}, "tag", time, "__ts", time);
  }

  @Test
  void aRowChangesItsRankAndThoseBehindIt() throws IOException {
    try (Feed feed = ranking(2, false)) {
      assertEquals(List.of("1 5,x,k1 1 1"), row(feed, "k", 5L, "x", 1));
      assertEquals(List.of("2 3,x,k2 2 2"), row(feed, "k", 3L, "x", 2));
      feed.nextBatch();
      assertEquals(List.of("1 9,x,k3 3 3", "2 5,x,k1 3 3"), row(feed, "k", 9L, "x", 3));
      assertEquals(List.of(), row(feed, "k", 4L, "x", 4));
      assertEquals(List.of("1 0,x,l5 5 5"), row(feed, "l", 0L, "x", 5));
    }
  }

  @Test
  void ofEqualRowsTheFirstIsAheadAndTheSecondColumnDecides() throws IOException {
    try (Feed feed = ranking(2, false)) {
      row(feed, "k", 5L, "x", 1);
      assertEquals(List.of("2 5,x,k2 2 2"), row(feed, "k", 5L, "x", 2));
      assertEquals(List.of(), row(feed, "k", 5L, "x", 3));
      assertEquals(List.of("1 5,w,k4 4 4", "2 5,x,k1 4 4"), row(feed, "k", 5L, "w", 4));
    }
  }

  @Test
  void nullsAreWhereTheyAreAskedFor() throws IOException {
    try (Feed last = ranking(1, false);
        Feed first = ranking(1, true)) {
      row(last, "k", null, "x", 1);
      assertEquals(List.of("1 1,x,k2 2 2"), row(last, "k", 1L, "x", 2));
      row(first, "k", 1L, "x", 1);
      assertEquals(List.of("1 -,x,k2 2 2"), row(first, "k", null, "x", 2));
    }
  }

  private record Ranked(Long a, String b, String text) {}

  @Test
  void randomRowsAreAsInASortedList() throws IOException {
    Random random = new Random(11);
    Comparator<Ranked> order =
        Comparator.comparing(Ranked::a, Comparator.nullsLast(Comparator.reverseOrder())).thenComparing(Ranked::b);
    for (int limit : new int[] {1, 3, 20}) {
      Map<String, List<Ranked>> all = new HashMap<>();
      try (Feed feed = ranking(limit, false)) {
        for (int time = 0; time < 500; time++) {
          String key = "k" + random.nextInt(3);
          Long a = random.nextInt(8) == 0 ? null : (long) random.nextInt(20);
          String b = "" + (char) ('a' + random.nextInt(3));
          List<Ranked> rows = all.computeIfAbsent(key, k -> new ArrayList<>());
          List<Ranked> before = List.copyOf(rows.subList(0, Math.min(limit, rows.size())));
          rows.add(new Ranked(a, b, (a == null ? "-" : a) + "," + b + "," + key + time));
          rows.sort(order); // stable
          List<String> expected = new ArrayList<>();
          for (int rank = 0; rank < Math.min(limit, rows.size()); rank++) {
            if (rank >= before.size() || before.get(rank) != rows.get(rank)) {
              expected.add(rank + 1 + " " + rows.get(rank).text() + " " + time + " " + time);
            }
          }
          assertEquals(expected, row(feed, key, a, b, time));
          if (random.nextInt(60) == 0) {
            feed.nextBatch();
          }
        }
      }
    }
  }
}
