package ksqlpy.tasks;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.junit.jupiter.api.Test;

final class ProgressTest {
  private final List<Long> sent = Collections.synchronizedList(new ArrayList<>());

  private static InternalRow row(long time) {
    return new GenericInternalRow(new Object[] {Long.valueOf(time)});
  }

  private Progress.Results results(Progress progress, int task) {
    return progress.results(task, row -> sent.add(Long.valueOf(row.getLong(0))));
  }

  private static void add(Progress.Results results, long time) throws IOException {
    results.add(time, row(time));
  }

  @Test
  void aResultIsKeptUntilTheOlderRowOfAnotherTaskIsDone() throws IOException {
    Progress progress = new Progress("q", 2);
    progress.sender(0, 0).sent(0, 1_000);
    progress.sender(0, 0).sent(1, 5_000);
    Progress.Own behind = progress.own(0, 0, 100);
    progress.own(0, 1, 101);
    Progress.Results first = results(progress, 100);
    Progress.Results second = results(progress, 101);
    add(second, 5_000);
    assertEquals(List.of(), sent);
    add(first, 1_000); // its row is the oldest of all
    assertEquals(List.of(1_000L), sent);
    behind.done(0);
    assertEquals(List.of(1_000L, 5_000L), sent);
  }

  @Test
  void aResultIsKeptUntilTheOlderResultOfAnotherTaskIsSent() throws IOException {
    Progress progress = new Progress("q", 3);
    for (int i = 0; i < 3; i++) {
      progress.sender(0, 0).sent(i, 1_000 * (i + 1));
    }
    Progress.Own oldest = progress.own(0, 0, 100);
    Progress.Own second = progress.own(0, 1, 101);
    Progress.Own third = progress.own(0, 2, 102);
    Progress.Results ofSecond = results(progress, 101);
    Progress.Results ofThird = results(progress, 102);
    add(ofThird, 3_000);
    third.done(0);
    add(ofSecond, 2_000);
    second.done(0);
    assertEquals(List.of(), sent);
    oldest.done(0);
    assertEquals(List.of(2_000L, 3_000L), sent);
  }

  @Test
  void rowsOfTheLastSecondMayBeSomeMillisecondsApart() throws IOException {
    Progress progress = new Progress("q", 2);
    long now = System.currentTimeMillis() + 1_000;
    progress.sender(0, 0).sent(0, now - 5);
    progress.own(0, 0, 100);
    progress.own(0, 1, 101);
    Progress.Results results = results(progress, 101);
    add(results, now);
    assertEquals(List.of(now), sent);
    add(results, now + 100);
    assertEquals(List.of(now), sent);
  }

  @Test
  void aTaskWithoutRowsOrAtItsEndIsNotWaitedFor() throws IOException {
    Progress progress = new Progress("q", 3);
    progress.sender(0, 0).sent(2, 1_000);
    progress.own(0, 2, 102).end();
    progress.own(0, 1, 101);
    add(results(progress, 101), 5_000);
    assertEquals(List.of(5_000L), sent);
  }

  @Test
  void aRowIsNextWhenNoOlderOneIsAheadOfTheShuffleOrOnItsWay() {
    Progress progress = new Progress("q", 2);
    progress.sender(0, 0).sent(0, 1_000);
    progress.sender(0, 0).sent(1, 2_000);
    Progress.Own ahead = progress.own(0, 0, 100);
    Progress.Own own = progress.own(1, 1, 103);
    progress.sender(1, 1).sent(1, 2_000);
    assertFalse(own.isNext(2_000, 0)); // the first task may send one of 1,000
    progress.sender(1, 0).sent(1, 1_000);
    ahead.done(0);
    assertFalse(own.isNext(2_000, 0)); // it did
    assertTrue(own.isNext(1_000, 0));
    own.done(0);
    assertTrue(own.isNext(2_000, 0));
  }

  @Test
  void aRowThatDoesNotComeHoldsNobodyForEver() throws IOException {
    Progress progress = new Progress("q", 2, 500);
    progress.sender(0, 0).sent(0, 1_000);
    progress.own(0, 0, 100).asks(true);
    progress.own(0, 1, 101);
    Progress.Results results = results(progress, 101);
    add(results, 5_000);
    assertEquals(List.of(), sent);
    results.finish();
    assertEquals(List.of(5_000L), sent);
  }

  @Test
  void aTaskThatWasIdleForLongIsWaitedFor() throws IOException {
    Progress progress = new Progress("q", 3, 50);
    progress.own(0, 0, 100).asks(true);
    progress.own(0, 1, 101);
    progress.own(0, 2, 102).asks(true);
    progress.sender(0, 0).sent(2, 1_000); // does not come: the others look for it in vain
    Progress.Results results = results(progress, 101);
    add(results, 5_000);
    results.finish();
    progress.sender(0, 0).sent(0, 6_000);
    add(results, 7_000);
    assertEquals(List.of(5_000L), sent);
  }

  @Test
  void aTaskThatIsSlowIsWaitedFor() throws InterruptedException, IOException {
    Progress progress = new Progress("q", 2, 500);
    progress.sender(0, 0).sent(0, 1_000);
    Progress.Own slow = progress.own(0, 0, 100);
    progress.own(0, 1, 101);
    Progress.Results results = results(progress, 101);
    add(results, 5_000);
    Thread waiting =
        new Thread(
            () -> {
              try {
                results.finish();
              } catch (IOException e) {
                throw new IllegalStateException(e);
              }
            });
    waiting.start();
    for (int i = 0; i < 700; i++) { // it takes row after row, for longer than others wait for one
      slow.asks(true);
      Thread.sleep(1);
      slow.asks(false);
      assertEquals(List.of(), sent);
    }
    slow.done(0);
    waiting.join();
    assertEquals(List.of(5_000L), sent);
  }

  @Test
  void aTaskIsToldWhatFailedWhenAnotherSentItsResults() throws IOException {
    Progress progress = new Progress("q", 2);
    progress.sender(0, 0).sent(0, 1_000);
    Progress.Own behind = progress.own(0, 0, 100);
    progress.own(0, 1, 101);
    Progress.Results results =
        progress.results(
            101,
            row -> {
              throw new IOException("the brokers are away");
            });
    add(results, 5_000);
    behind.done(0);
    assertThrows(IOException.class, results::finish);
  }

  @Test
  void rowsThatComeOneAfterTheOther() throws IOException {
    Progress progress = new Progress("q", 2);
    Progress.Own own = progress.own(0, 0, 100);
    progress.own(0, 1, 101);
    Progress.Results results = results(progress, 101);
    for (int i = 0; i < 5_000; i++) {
      progress.sender(0, 0).sent(0, i);
      own.done(0);
      add(results, i);
      assertEquals(i + 1, sent.size());
    }
  }

  @Test
  void resultsOfTasksLieInTheOrderOfTime() throws InterruptedException {
    int tasks = 4;
    Random random = new Random(7);
    Progress progress = new Progress("q", tasks);
    List<List<Long>> rows = new ArrayList<>();
    for (int i = 0; i < tasks; i++) {
      rows.add(new ArrayList<>());
    }
    for (long time = 0; time < 400_000; time += random.nextInt(30)) {
      int task = random.nextInt(tasks);
      progress.sender(0, 0).sent(task, time);
      rows.get(task).add(Long.valueOf(time));
    }
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < tasks; i++) {
      int number = i;
      Progress.Own own = progress.own(0, number, number);
      Progress.Results results = results(progress, number);
      threads.add(new Thread(() -> {
        try {
          for (Long time : rows.get(number)) {
            add(results, time.longValue());
            own.done(0);
          }
          results.finish();
        } catch (IOException e) {
          throw new IllegalStateException(e);
        }
      }));
    }
    threads.forEach(Thread::start);
    for (Thread thread : threads) {
      thread.join();
    }
    List<Long> sorted = new ArrayList<>(sent);
    Collections.sort(sorted);
    assertEquals(rows.stream().mapToInt(List::size).sum(), sent.size());
    assertEquals(sorted, sent);
  }
}
