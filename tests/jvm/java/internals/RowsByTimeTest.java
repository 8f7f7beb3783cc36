package ksqlpy.internals;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import ksqlpy.tasks.ProgressProbe;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.junit.jupiter.api.Test;
import scala.collection.AbstractIterator;

final class RowsByTimeTest {
  private static final InternalRow END = new GenericInternalRow(new Object[] {-1L, -1});

  /** What a shuffle gives: rows as they come, and an end. */
  private static final class Shuffle extends AbstractIterator<InternalRow> {
    private final BlockingQueue<InternalRow> rows = new LinkedBlockingQueue<>();
    private InternalRow next;

    void send(long time, int sender) {
      rows.add(new GenericInternalRow(new Object[] {Long.valueOf(time), Integer.valueOf(sender)}));
    }

    void end() {
      rows.add(END);
    }

    @Override
    public boolean hasNext() {
      try {
        next = next == null ? rows.take() : next;
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
      return next != END;
    }

    @Override
    public InternalRow next() {
      InternalRow given = next;
      next = null;
      return given;
    }
  }

  @Test
  void rowsOfSeveralTasksComeInTheOrderOfTheirTimes() throws InterruptedException {
    int tasks = 4;
    ProgressProbe progress = new ProgressProbe(tasks);
    Random random = new Random(8);
    List<List<Long>> rows = new ArrayList<>();
    List<Shuffle> shuffles = new ArrayList<>();
    for (int i = 0; i < tasks; i++) {
      rows.add(new ArrayList<>());
      shuffles.add(new Shuffle());
    }
    int count = 0;
    for (long time = 0; time < 200_000; time += random.nextInt(30), count++) {
      int task = random.nextInt(tasks);
      progress.sent(0, 0, task, time);
      rows.get(task).add(Long.valueOf(time));
    }
    List<Thread> first = new ArrayList<>();
    List<Thread> second = new ArrayList<>();
    List<List<Long>> taken = new ArrayList<>();
    for (int i = 0; i < tasks; i++) {
      int number = i;
      List<Long> times = new ArrayList<>();
      taken.add(times);
      first.add(new Thread(() -> {
        for (Long time : rows.get(number)) {
          int task = (int) (time.longValue() * 31 % tasks);
          if (number == 0 && time.longValue() % 64 == 0) {
            pause(); // the slowest of all
          }
          progress.sent(1, number, task, time.longValue());
          shuffles.get(task).send(time.longValue(), number);
          progress.done(0, number, 0);
        }
      }));
      second.add(new Thread(() -> {
        RowsByTime found = new RowsByTime(shuffles.get(number), 0, 1, progress.own(1, number));
        while (found.hasNext()) {
          times.add(Long.valueOf(found.next().getLong(0)));
        }
      }));
    }
    second.forEach(Thread::start);
    first.forEach(Thread::start);
    for (Thread thread : first) {
      thread.join();
    }
    shuffles.forEach(Shuffle::end);
    for (Thread thread : second) {
      thread.join();
    }
    assertEquals(count, taken.stream().mapToInt(List::size).sum());
    for (List<Long> times : taken) {
      List<Long> sorted = new ArrayList<>(times);
      Collections.sort(sorted);
      assertEquals(sorted, times);
    }
  }

  private static void pause() {
    try {
      Thread.sleep(1);
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }
}
