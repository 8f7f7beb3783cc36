package ksqlpy.tasks;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.apache.kafka.common.TopicPartition;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Which of the tasks that read side by side are behind a record. */
final class AlignmentTest {
  private final Alignment.Member first = Alignment.join("life", 2, new TopicPartition("a", 0));
  private final Alignment.Member second = Alignment.join("life", 2, new TopicPartition("a", 1));

  @AfterEach
  void end() {
    first.leave();
    second.leave();
  }

  @Test
  void aTaskIsBehindARecordThatIsLaterThanItsOwnByMoreThanTheSlack() {
    first.has(1_000);
    second.has(1_001 + Alignment.SLACK);
    assertSame(first, second.behind(1_001 + Alignment.SLACK, null));
    assertNull(second.behind(1_000 + Alignment.SLACK, null));
    assertTrue(second.isWithin(1_000 + Alignment.SLACK));
    assertFalse(second.isWithin(1_001 + Alignment.SLACK));
    assertNull(first.behind(1_000, null));
    first.has(2_000);
    assertNull(second.behind(1_001 + Alignment.SLACK, null));
  }

  @Test
  void aTaskThatHasNotBegunIsBehind() {
    first.has(1_000);
    assertSame(second, first.behind(1_000, null));
    assertTrue(first.isComplete());
    second.leave();
    assertFalse(first.isComplete());
  }

  @Test
  void aTaskAtItsEndIsNot() {
    first.has(5_000);
    second.ends(17);
    assertNull(first.behind(5_000, null));
    assertFalse(first.isWithin(5_000)); // it may get an older one
    assertEquals(List.of(second), first.atEnd());
    assertEquals(17, second.position());
    second.has(1_000);
    assertSame(second, first.behind(5_000, null));
    assertEquals(List.of(), first.atEnd());
  }

  @Test
  void oneIsPassed() {
    first.has(5_000);
    second.has(1_000);
    assertNull(first.behind(5_000, second));
    assertFalse(first.isWithin(5_000));
  }

  @Test
  void anotherLifeOfTheQueryHasOtherTasks() {
    Alignment.Member other = Alignment.join("life 2", 1, new TopicPartition("a", 0));
    other.has(1_000);
    first.has(9_000);
    second.has(9_000);
    assertNull(first.behind(9_000, null));
    other.leave();
  }
}
