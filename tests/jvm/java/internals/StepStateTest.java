package ksqlpy.internals;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import ksqlpy.internals.StepState.ByTime;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.junit.jupiter.api.Test;

final class StepStateTest {
  private static UnsafeRow row(long value) {
    UnsafeRow made = UnsafeRow.createFromByteArray(16, 1);
    made.setLong(0, value);
    return made;
  }

  private static byte[] key(Random random) {
    byte[] made = new byte[random.nextInt(4)];
    random.nextBytes(made);
    return made;
  }

  private static String text(StepState.Timed row) {
    return new String(row.key(), StandardCharsets.ISO_8859_1) + "@" + row.time() + "=" + row.row().getLong(0);
  }

  private static List<String> all(ByTime family) {
    List<String> found = new ArrayList<>();
    family.each(Long.MIN_VALUE, 1, row -> found.add(text(row)));
    return found;
  }

  /** The same is done to two states, of which one is written after each row. */
  @Test
  void rowsInMemoryAreAsThoseInTheStore() throws Exception {
    for (int seed = 0; seed < 20; seed++) {
      Random random = new Random(seed);
      try (States lazy = new States(States.folder());
          States eager = new States(States.folder())) {
        for (int batch = 0; batch < 3; batch++) {
          StepState a = lazy.state();
          StepState b = eager.state();
          ByTime[] timed = {a.byTimeThenKey("t"), b.byTimeThenKey("t")};
          ByTime[] keyed = {a.byKeyThenTime("k", false), b.byKeyThenTime("k", false)};
          ByTime[] several = {a.byKeyThenTime("s", true), b.byKeyThenTime("s", true)};
          for (int n = 0; n < 200; n++) {
            byte[] key = key(random);
            long time = random.nextInt(30);
            int what = random.nextInt(4);
            long from = random.nextInt(30);
            for (int i = 0; i < 2; i++) {
              if (what == 0) {
                timed[i].remove(key, time);
                keyed[i].remove(key, time);
                several[i].remove(key, time);
              } else {
                timed[i].put(key, time, row(n));
                keyed[i].put(key, time, row(n));
                several[i].add(key, time, row(n));
              }
            }
            b.write();
            assertEquals(keyed[1].has(key, from), keyed[0].has(key, from));
            for (ByTime[] each : List.of(keyed, several)) {
              assertEquals(
                  each[1].of(key, from, from + 9, 1).stream().map(StepStateTest::text).toList(),
                  each[0].of(key, from, from + 9, 1).stream().map(StepStateTest::text).toList());
            }
            if (random.nextInt(50) == 0) {
              a.write();
            }
          }
          assertEquals(all(timed[1]), all(timed[0]));
          a.write();
          lazy.commit();
          eager.commit();
        }
      }
    }
  }
}
