package ksqlpy.steps;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.util.List;
import org.junit.jupiter.api.Test;

final class ForeignKeyTest {
  private static final String COLUMNS =
      "__side TINYINT, __pk STRUCT<k: INT>, __fk STRUCT<k: INT>, __left STRUCT<v: STRING>, __right STRUCT<v: STRING>,"
          + " __del BOOLEAN, __key STRUCT<k: INT>";
  private static final String TOLD = COLUMNS + ", __op TINYINT, __version BIGINT";

  private static Feed changes(boolean left) throws IOException {
    return new Feed(new ForeignKey.Changes(1, new int[] {}, left), COLUMNS, "__op", "__pk", "__fk", "__left", "__version");
  }

  private static Feed matches(boolean left) throws IOException {
    return new Feed(new ForeignKey.Matches(2, new int[] {}, left, false), TOLD, "__pk", "__left", "__right", "__del");
  }

  private static Feed latest() throws IOException {
    return new Feed(new ForeignKey.Latest(3, new int[] {}), TOLD, "__left", "__del");
  }

  private static Object[] struct(Object value) {
    return value == null ? null : new Object[] {value};
  }

  /** A row of the left table; {@code value} null: it is deleted. */
  private static List<String> left(Feed feed, int pk, Integer fk, String value) {
    return feed.take(
        0, "__side", 0, "__pk", struct(pk), "__fk", struct(fk), "__left", struct(value), "__del", value == null);
  }

  private static List<String> told(Feed feed, int op, int pk, Integer fk, String value, long version) {
    return feed.take(
        0, "__side", 0, "__pk", struct(pk), "__fk", struct(fk), "__key", struct(fk), "__left", struct(value), "__op", op,
        "__version", version);
  }

  private static List<String> right(Feed feed, int fk, String value) {
    return feed.take(
        0, "__side", 1, "__fk", struct(fk), "__key", struct(fk), "__right", struct(value), "__del", value == null);
  }

  private static List<String> result(Feed feed, int op, int pk, String value, long version) {
    return feed.take(
        0, "__key", struct(pk), "__pk", struct(pk), "__left", struct(value), "__op", op, "__version", version, "__del",
        op == ForeignKey.DELETE);
  }

  @Test
  void aChangeOfTheKeyTellsTheOldOneFirst() throws IOException {
    try (Feed feed = changes(false)) {
      assertEquals(List.of("0 1 7 a 1"), left(feed, 1, 7, "a"));
      assertEquals(List.of("1 1 7 b 2"), left(feed, 1, 7, "b"));
      assertEquals(List.of("3 1 7 b 3", "1 1 8 c 3"), left(feed, 1, 8, "c"));
      assertEquals(List.of("2 1 8 c 4"), left(feed, 1, null, "d"));
      assertEquals(List.of(), left(feed, 1, null, null));
    }
  }

  @Test
  void aLeftJoinTellsRowsWithoutAKeyToo() throws IOException {
    try (Feed feed = changes(true)) {
      assertEquals(List.of("1 1 - a 1"), left(feed, 1, null, "a"));
      assertEquals(List.of("1 1 7 b 2"), left(feed, 1, 7, "b"));
      assertEquals(List.of("3 1 7 b 3", "1 1 - c 3"), left(feed, 1, null, "c"));
      assertEquals(List.of("2 1 - c 4"), left(feed, 1, null, null));
      assertEquals(List.of(), left(feed, 2, null, null), "it was not there");
    }
  }

  @Test
  void changesAreCountedFromBatchToBatch() throws IOException {
    try (Feed feed = changes(false)) {
      left(feed, 1, 7, "a");
      feed.nextBatch();
      assertEquals(List.of("2 1 7 a 2"), left(feed, 1, 7, null));
      feed.nextBatch();
      assertEquals(List.of("0 1 7 b 3"), left(feed, 1, 7, "b"), "a row that is there again is newer");
    }
  }

  @Test
  void aRightRowGivesTheResultsOfAllItsLeftRows() throws IOException {
    try (Feed feed = matches(false)) {
      assertEquals(List.of(), told(feed, ForeignKey.PUT, 1, 7, "a", 1));
      assertEquals(List.of(), told(feed, ForeignKey.PUT, 2, 7, "b", 2));
      assertEquals(List.of(), told(feed, ForeignKey.PUT, 3, 8, "c", 3));
      assertEquals(List.of("1 a x false", "2 b x false"), right(feed, 7, "x"));
      assertEquals(List.of(), told(feed, ForeignKey.FORGET, 1, 7, "a", 4));
      feed.nextBatch();
      assertEquals(List.of("2 b y false"), right(feed, 7, "y"));
      assertEquals(List.of("2 b - true"), right(feed, 7, null));
      assertEquals(List.of("2 b - true"), told(feed, ForeignKey.REPLACE, 2, 7, "b", 5), "its old result is gone");
    }
  }

  @Test
  void aLeftJoinHasResultsWithoutARightRow() throws IOException {
    try (Feed feed = matches(true)) {
      assertEquals(List.of("1 a - false"), told(feed, ForeignKey.REPLACE, 1, 7, "a", 1));
      assertEquals(List.of("2 b - false"), told(feed, ForeignKey.REPLACE, 2, null, "b", 2));
      assertEquals(List.of("1 a x false"), right(feed, 7, "x"));
      assertEquals(List.of("1 a - false"), right(feed, 7, null));
      assertEquals(List.of("1 a - true"), told(feed, ForeignKey.DELETE, 1, 7, "a", 3));
      assertEquals(List.of(), right(feed, 7, "z"));
    }
  }

  @Test
  void whatTheLeftRowHasOvertakenIsDropped() throws IOException {
    try (Feed feed = latest()) {
      assertEquals(List.of("a false"), result(feed, ForeignKey.REPLACE, 1, "a", 5));
      assertEquals(List.of(), result(feed, ForeignKey.REPLACE, 1, "old", 4));
      assertEquals(List.of("a false"), result(feed, ForeignKey.REPLACE, 1, "a", 5));
      feed.nextBatch();
      assertEquals(List.of(), result(feed, ForeignKey.REPLACE, 1, "old", 4));
      assertEquals(List.of("a true"), result(feed, ForeignKey.DELETE, 1, "a", 6));
      assertEquals(List.of(), result(feed, ForeignKey.REPLACE, 1, "a", 5));
      feed.nextBatch();
      assertEquals(List.of("b false"), result(feed, ForeignKey.PUT, 1, "b", 7));
    }
  }

  @Test
  void whereChangesAreMixedAnEarlierOneChangesNothing() throws IOException {
    try (Feed feed = new Feed(new ForeignKey.Matches(2, new int[] {}, false, true), TOLD, "__left", "__right", "__del")) {
      right(feed, 7, "x");
      assertEquals(List.of("b x false"), told(feed, ForeignKey.REPLACE, 1, 7, "b", 2));
      assertEquals(List.of(), told(feed, ForeignKey.PUT, 1, 7, "a", 1), "it is overtaken");
      assertEquals(List.of("b y false"), right(feed, 7, "y"));
      assertEquals(List.of("b - true"), told(feed, ForeignKey.DELETE, 1, 7, "b", 4));
      assertEquals(List.of(), told(feed, ForeignKey.REPLACE, 1, 7, "c", 3), "it was deleted since");
      assertEquals(List.of(), right(feed, 7, "z"));
    }
  }
}
