package ksqlpy.tasks;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

final class SourcesTest {
  private static View elsewhere(long... read) {
    return new View(new long[0][], read, 0, 0);
  }

  @Test
  void aTaskWaitsForTheOneThatIsBehindOnAnotherExecutor() {
    Sources.Own own = new Sources(2).own(0);
    assertFalse(own.mayGive(5_000, true, elsewhere(Sources.NOT_BEGUN, Sources.NOT_BEGUN)));
    assertFalse(own.mayGive(5_000, true, elsewhere(Sources.NOT_BEGUN, 1_000)));
    assertTrue(own.mayGive(5_000, true, elsewhere(Sources.NOT_BEGUN, 4_900)));
    assertTrue(own.mayGive(5_000, true, elsewhere(Sources.NOT_BEGUN, Sources.AT_END)));
  }

  @Test
  void someRecordsMayBeReadAheadButNotAtTheEndOfABatch() {
    Sources.Own own = new Sources(2).own(0);
    View behind = elsewhere(Sources.NOT_BEGUN, 0);
    int given = 0;
    while (own.mayGive(1_000_000 + given, false, behind)) {
      own.reads(1_000_000 + given++);
    }
    assertTrue(given > 100 && given <= 2_000, given + " records");
    assertFalse(own.mayGive(1_000_000, true, behind));
    assertTrue(own.mayGive(1_000_000 + given, false, elsewhere(Sources.NOT_BEGUN, 1_000_000)));
  }

  @Test
  void aRowIsNextWhenAllHaveReadUpToItsTime() {
    Progress progress = new Progress("b", "q", 1, 2, 500, View.ALONE);
    Progress.Reads first = progress.reads(0);
    Progress.Reads second = progress.reads(1);
    first.mayGive(1_000, false);
    first.reads(1_000);
    progress.sender(0, 0).sent(0, 1_000);
    Progress.Own own = progress.own(0, 0, 100);
    own.takes(0);
    assertFalse(own.isNext(1_000, 0)); // the other has not begun
    second.mayGive(500, false);
    assertFalse(own.isNext(1_000, 0));
    second.ends();
    assertTrue(own.isNext(1_000, 0));
  }
}
