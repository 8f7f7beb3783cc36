package ksqlpy.tasks;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

final class ProgressTest {
  @Test
  void aTaskWaitsForOneWithAnOlderRow() throws InterruptedException {
    Progress progress = new Progress("q", 2);
    progress.sent(0, 1_000);
    progress.sent(1, 5_000);
    CountDownLatch gone = new CountDownLatch(1);
    Thread ahead = new Thread(() -> {
      progress.own(1).await(5_000);
      gone.countDown();
    });
    ahead.start();
    assertFalse(gone.await(50, TimeUnit.MILLISECONDS));
    Progress.Own behind = progress.own(0);
    behind.await(1_000); // has the oldest row
    behind.done();
    assertTrue(gone.await(10, TimeUnit.SECONDS));
  }

  @Test
  void nobodyWaitsForATaskWithoutRowsOrAtItsEnd() {
    Progress progress = new Progress("q", 3);
    progress.sent(1, 5_000);
    progress.sent(2, 1_000);
    progress.own(2).end();
    progress.own(1).await(5_000);
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
      progress.sent(task, time);
      rows.get(task).add(Long.valueOf(time));
    }
    List<Long> results = Collections.synchronizedList(new ArrayList<>());
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < tasks; i++) {
      int number = i;
      threads.add(new Thread(() -> {
        Progress.Own own = progress.own(number);
        for (Long time : rows.get(number)) {
          own.await(time.longValue());
          results.add(time);
          own.done();
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
}
