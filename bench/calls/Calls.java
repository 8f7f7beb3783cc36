package ksqlpy.bench;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import ksqlpy.python.Call;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.unsafe.types.UTF8String;

/** Calls a function {@code (STRING, BIGINT) → STRING} in Python; prints how long that takes, and what the processes use. */
public final class Calls {
  private static final int QUERIES = 50;
  private static final int OF_EACH = 500;

  private Calls() {}

  /** Arguments: the call's description, and how many calls. */
  public static void main(String[] given) throws Exception {
    long begin = System.nanoTime();
    Call call = Call.of(given[0]);
    call.ask(row());
    long first = System.nanoTime() - begin;
    begin = System.nanoTime();
    renamed(given[0], 0).ask(row());
    long next = System.nanoTime() - begin;
    System.out.printf(
        "first call: %.0f ms, with the start of Python; %.1f ms of the next function%n", first / 1e6, next / 1e6);
    alone(call, Integer.parseInt(given[1]));
    sideBySide(given[0]);
  }

  private static GenericInternalRow row() {
    return new GenericInternalRow(new Object[] {UTF8String.fromString("hello world"), Long.valueOf(7)});
  }

  /** The same function under another name. */
  private static Call renamed(String described, int number) {
    return Call.of(described.replace("BENCH_SHOUT", "BENCH_SHOUT_" + number));
  }

  private static void alone(Call call, int count) {
    GenericInternalRow row = row();
    for (int i = 0; i < count / 2; i++) {
      call.ask(row);
    }
    long[] took = new long[count];
    long begin = System.nanoTime();
    for (int i = 0; i < count; i++) {
      long from = System.nanoTime();
      call.ask(row);
      took[i] = System.nanoTime() - from;
    }
    double all = (System.nanoTime() - begin) / 1e9;
    Arrays.sort(took);
    System.out.printf(
        "one call alone: p50 %.1f us, p99 %.1f us, %.0f calls/s%n",
        took[count / 2] / 1e3, took[count / 100 * 99] / 1e3, count / all);
  }

  /** A function and a thread for each of many queries. */
  private static void sideBySide(String described) throws Exception {
    List<Thread> threads = IntStream.rangeClosed(1, QUERIES)
        .mapToObj(number -> new Thread(() -> {
          Call call = renamed(described, number);
          for (int i = 0; i < OF_EACH; i++) {
            call.ask(row());
          }
        }))
        .toList();
    long before = heap();
    long begin = System.nanoTime();
    threads.forEach(Thread::start);
    for (Thread thread : threads) {
      thread.join();
    }
    double all = (System.nanoTime() - begin) / 1e9;
    double processes = 0;
    List<ProcessHandle> python = ProcessHandle.current().descendants().toList();
    for (ProcessHandle process : python) {
      processes += kilobytes(process.pid()) / 1024.0;
    }
    System.out.printf(
        "%d functions of %d threads at once: %.0f calls/s; %d processes of Python with %.0f MB, %.0f MB more heap%n",
        QUERIES, QUERIES, QUERIES * OF_EACH / all, python.size(), processes, (heap() - before) / 1e6);
  }

  private static long heap() {
    System.gc();
    return Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
  }

  /** The memory of a process; what it shares with others counts in parts. */
  private static long kilobytes(long pid) throws IOException {
    return Files.readAllLines(Path.of("/proc/" + pid + "/smaps_rollup")).stream()
        .filter(line -> line.startsWith("Pss:"))
        .mapToLong(line -> Long.parseLong(line.replaceAll("[^0-9]", "")))
        .sum();
  }
}
