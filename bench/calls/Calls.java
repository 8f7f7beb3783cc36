package ksqlpy.bench;

import java.util.Arrays;
import ksqlpy.python.Call;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.unsafe.types.UTF8String;

/** Calls a function {@code (STRING, BIGINT) → STRING} in Python from one thread; prints how long that takes. */
public final class Calls {
  private Calls() {}

  /** Arguments: the call's description, and how many calls. */
  public static void main(String[] given) {
    Call call = Call.of(given[0]);
    int count = Integer.parseInt(given[1]);
    GenericInternalRow row = new GenericInternalRow(new Object[] {UTF8String.fromString("hello world"), Long.valueOf(7)});
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
}
