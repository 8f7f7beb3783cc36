package ksqlpy.tasks;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

final class ProgressTest {
  private static void send(Progress progress, int task, long time) {
    progress.sender(0, 0).sent(task, time);
  }

  @Test
  void aTaskWaitsForOneWithAnOlderRow() throws InterruptedException {
    Progress progress = new Progress("q", 2);
    send(progress, 0, 1_000);
    send(progress, 1, 5_000);
    CountDownLatch gone = new CountDownLatch(1);
    Thread ahead = new Thread(() -> {
      progress.own(0, 1).await(5_000);
      gone.countDown();
    });
    ahead.start();
    assertFalse(gone.await(50, TimeUnit.MILLISECONDS));
    Progress.Own behind = progress.own(0, 0);
    behind.await(1_000); // has the oldest row
    behind.done(0);
    assertTrue(gone.await(10, TimeUnit.SECONDS));
  }

  @Test
  void nobodyWaitsForATaskWithoutRowsOrAtItsEnd() {
    Progress progress = new Progress("q", 3);
    send(progress, 1, 5_000);
    send(progress, 2, 1_000);
    progress.own(0, 2).end();
    progress.own(0, 1).await(5_000);
  }

  @Test
  void rowsThatComeOneAfterTheOther() {
    Progress progress = new Progress("q", 2);
    Progress.Own own = progress.own(0, 0);
    Progress.Own other = progress.own(0, 1);
    for (int i = 0; i < 5_000; i++) {
      send(progress, 0, i);
      own.await(i);
      other.await(i);
      own.done(0);
      other.await(i + 1_000_000L);
    }
  }

  @Test
  void aRowThatDoesNotComeHoldsNobodyForEver() {
    Progress progress = new Progress("q", 2);
    send(progress, 0, 1_000);
    send(progress, 1, 5_000);
    progress.own(0, 0).asks(true);
    progress.own(0, 1).await(5_000);
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
    for (long time = 0; time < 400_000; time += 20 + random.nextInt(30)) {
      int task = random.nextInt(tasks);
      send(progress, task, time);
      rows.get(task).add(Long.valueOf(time));
    }
    List<Long> results = Collections.synchronizedList(new ArrayList<>());
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < tasks; i++) {
      int number = i;
      threads.add(new Thread(() -> {
        Progress.Own own = progress.own(0, number);
        for (Long time : rows.get(number)) {
          own.await(time.longValue());
          results.add(time);
          own.done(0);
        }
      }));
    }
    threads.forEach(Thread::start);
    for (Thread thread : threads) {
      thread.join();
    }
    List<Long> sorted = new ArrayList<>(results);
    Collections.sort(sorted);
    assertEquals(sorted, results); // rows lie further apart than tasks may be
  }

  @Test
  void aTaskWaitsForAnOlderRowBehindALaterShuffle() throws InterruptedException {
    Progress progress = new Progress("q", 2);
    progress.sender(1, 1).sent(0, 1_000);
    send(progress, 1, 5_000);
    CountDownLatch gone = new CountDownLatch(1);
    Thread ahead = new Thread(() -> {
      progress.own(0, 1).await(5_000);
      gone.countDown();
    });
    ahead.start();
    assertFalse(gone.await(50, TimeUnit.MILLISECONDS));
    progress.own(1, 0).done(1);
    assertTrue(gone.await(10, TimeUnit.SECONDS));
  }

  @Test
  void resultsBehindTwoShufflesLieInTheOrderOfTime() throws InterruptedException {
    int tasks = 4;
    Random random = new Random(8);
    Progress progress = new Progress("q", tasks);
    List<List<Long>> rows = new ArrayList<>();
    List<BlockingQueue<long[]>> behind = new ArrayList<>();
    for (int i = 0; i < tasks; i++) {
      rows.add(new ArrayList<>());
      behind.add(new LinkedBlockingQueue<>());
    }
    for (long time = 0; time < 200_000; time += 20 + random.nextInt(30)) {
      int task = random.nextInt(tasks);
      send(progress, task, time);
      rows.get(task).add(Long.valueOf(time));
    }
    List<Long> results = Collections.synchronizedList(new ArrayList<>());
    List<Thread> first = new ArrayList<>();
    List<Thread> second = new ArrayList<>();
    for (int i = 0; i < tasks; i++) {
      int number = i;
      first.add(new Thread(() -> {
        Progress.Own own = progress.own(0, number);
        Progress.Sender sender = progress.sender(1, number);
        for (Long time : rows.get(number)) {
          own.await(time.longValue());
          int task = (int) (time.longValue() * 31 % tasks);
          sender.sent(task, time.longValue());
          behind.get(task).add(new long[] {number, time.longValue()});
          own.done(0);
        }
      }));
      second.add(new Thread(() -> {
        Progress.Own own = progress.own(1, number);
        try {
          for (long[] row = behind.get(number).take(); row[0] >= 0; row = behind.get(number).take()) {
            if (number == 0) {
              Thread.sleep(0, 100_000); // one that is slower than the others
            }
            results.add(Long.valueOf(row[1]));
            own.done((int) row[0]);
          }
        } catch (InterruptedException e) {
          throw new IllegalStateException(e);
        }
      }));
    }
    second.forEach(Thread::start);
    first.forEach(Thread::start);
    for (Thread thread : first) {
      thread.join();
    }
    behind.forEach(each -> each.add(new long[] {-1, 0}));
    for (Thread thread : second) {
      thread.join();
    }
    List<Long> sorted = new ArrayList<>(results);
    Collections.sort(sorted);
    assertEquals(sorted, results);
  }
}
