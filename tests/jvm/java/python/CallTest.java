package ksqlpy.python;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.ByteArrayInputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** How a call of a function in Python may end, and that the next one is well. */
final class CallTest {
  private static final ObjectMapper MAPPER = new ObjectMapper();

  private static Call call(String body, int ms, String... more) throws Exception {
    return Call.of(described(body, ms, more));
  }

  private static String described(String body, int ms, String... more) throws Exception {
    Map<String, Object> spec = new TreeMap<>();
    spec.put("name", "F");
    spec.put("callable", "f");
    spec.put("body", body);
    spec.put("kind", "SCALAR");
    spec.put("method", "");
    spec.put("module_digest", "");
    spec.put("takes", List.of("BIGINT"));
    spec.put("gives", "STRING");
    spec.put("on_error", more.length > 0 ? more[0] : "null");
    spec.put("timeout_ms", Integer.valueOf(ms));
    spec.put("deterministic", Boolean.TRUE);
    return MAPPER.writeValueAsString(spec);
  }

  private static InternalRow row(long number) {
    return new GenericInternalRow(new Object[] {Long.valueOf(number)});
  }

  private static CallFailed failure(Call call) {
    return assertThrows(CallFailed.class, () -> call.ask(row(1)));
  }

  private static void nextIsWell() throws Exception {
    assertEquals(UTF8String.fromString("5"), call("def f(n):\n    return str(n)", 60_000).ask(row(5)));
  }

  @Test
  void anExceptionHasTheUsersLine() throws Exception {
    CallFailed failed = failure(call("def f(n):\n    x = 0\n    return 1 / x", 60_000));
    assertEquals("ZeroDivisionError: division by zero (line 3)", failed.getMessage());
    assertEquals("ZeroDivisionError", failed.kind);
    assertTrue(failed.traceback.contains("line 3, in f\n    return 1 / x"), failed.traceback);
    nextIsWell();
  }

  @Test
  void anEndlessLoopEndsAtItsLimitAndSaysWhere() throws Exception {
    CallFailed failed = failure(call("def f(n):\n    while True:\n        n += 1", 300));
    assertEquals(CallFailed.LATE, failed.kind);
    assertEquals("it took longer than 300 ms", failed.getMessage());
    nextIsWell();
  }

  @Test
  void whatDoesNotStopIsKilled() throws Exception {
    String body =
        "import os, signal as s\ndef f(n):\n    for m in s.valid_signals() - {s.SIGKILL, s.SIGSTOP}:\n"
            + "        s.signal(m, s.SIG_IGN)\n    os.fork()\n    while True: pass";
    assertEquals(CallFailed.LATE, failure(call(body, 300)).kind);
    nextIsWell();
  }

  @Test
  void whoTakesTheLimitForSomethingElseIsLateToo() throws Exception {
    String body = "def f(n):\n    try:\n        while True: pass\n    except TimeoutError: return 'late'";
    assertEquals(CallFailed.LATE, failure(call(body, 300)).kind);
    nextIsWell();
  }

  @Test
  void anAnswerThatIsNoneEndsItsWorker() throws Exception {
    String body = "import os, stat\ndef f(n):\n"
        + "    fd = next(n for n in range(3, 64) if os.path.exists(f'/dev/fd/{n}') and stat.S_ISSOCK(os.fstat(n).st_mode))\n"
        + "    os.write(fd, bytes([0, 0, 0, 5, 0, 0, 127, 0, 0]))";
    assertEquals("its worker has ended 3 times", failure(call(body, 60_000)).getMessage());
    nextIsWell();
  }

  @Test
  void workersThatEndWhileTheyLoadAreNotStartedForEachRow(@TempDir Path folder) throws Exception {
    Path seen = folder.resolve("seen");
    Call dying = call("import os\nopen('" + seen + "', 'a').write('.')\nos._exit(0)\ndef f(n): pass", 60_000);
    for (int i = 0; i < 50; i++) {
      assertEquals("its worker has ended 3 times", failure(dying).getMessage());
    }
    assertTrue(Files.size(seen) <= 6, "" + Files.size(seen)); // a second may have passed between two of them
    nextIsWell();
  }

  @Test
  void whatIsWrittenPastPythonsStreamsIsCut() throws Exception {
    byte[] text = ("a\u001b[2J\n\n" + "x".repeat(5000) + "\nend").getBytes(StandardCharsets.UTF_8);
    List<String> lines = new ArrayList<>();
    Zygote.lines(new ByteArrayInputStream(text), lines::add);
    assertEquals(List.of("a [2J", "", "x".repeat(1000), "end"), lines);
  }

  @Test
  void argumentsHaveALimitThatIsSaid() throws Exception {
    Frame frame = new Frame();
    frame.putBytes(new byte[60 << 20]);
    CallFailed failed = assertThrows(CallFailed.class, () -> frame.putBytes(new byte[8 << 20]));
    assertEquals(
        "the arguments are too large: 71,303,176 bytes or more, and 67,108,864 are allowed", failed.getMessage());
  }

  @Test
  void aWorkerThatEndsIsReplaced() throws Exception {
    CallFailed failed = failure(call("import os\ndef f(n):\n    os._exit(1)", 60_000));
    assertEquals("its worker has ended 3 times", failed.getMessage());
    assertTrue(failure(call("import sys\ndef f(n):\n    sys.exit(1)", 60_000)).getMessage().startsWith("SystemExit: 1"));
    nextIsWell();
  }

  @Test
  void killsLoseAndChangeNothing() throws Exception {
    Call slow = call("import os, time\ndef f(n):\n    time.sleep(.002)\n    return f'{n} {os.getpid()}'", 60_000);
    Set<Long> pids = new HashSet<>();
    for (long n = 0; n < 300; n++) {
      String[] got = slow.ask(row(n)).toString().split(" ");
      assertEquals(n, Long.parseLong(got[0]));
      long pid = Long.parseLong(got[1]);
      pids.add(Long.valueOf(pid));
      if (n % 15 == 0) {
        ProcessHandle.of(pid).ifPresent(ProcessHandle::destroyForcibly);
      }
    }
    assertTrue(pids.size() > 15, pids.toString());
  }

  @Test
  void answersThatAreLookedForAreThoseOfTheirCalls() throws Exception {
    String body = "import time\ndef f(n):\n    if n % 400 == 399: time.sleep(.002)\n"
        + "    return str(n) * (200_000 if n % 700 == 699 else 1)";
    Call call = call(body, 60_000);
    for (int n = 0; n < 4000; n++) {
      assertEquals(UTF8String.fromString(Integer.toString(n).repeat(n % 700 == 699 ? 200_000 : 1)), call.ask(row(n)));
    }
  }

  @Test
  void whatIsLoadedAheadRunsItsImportsWithoutACall(@TempDir Path folder) throws Exception {
    Path file = folder.resolve("imported");
    String body = "open('" + file + "', 'x').close()\ndef f(n):\n    return str(n)";
    Call.loadSoon(described(body, 60_000));
    Call.loadSoon(described("1 / 0", 60_000)); // nobody is told
    while (!Files.exists(file)) {
      Thread.sleep(10);
    }
    assertEquals("ZeroDivisionError: division by zero (line 1)", failure(call("1 / 0", 60_000)).getMessage());
    nextIsWell();
  }

  @Test
  void theProcessThatForksMayBeKilledToo() throws Exception {
    Call parent = call("import os\ndef f(n):\n    return f'{os.getppid()}'", 60_000);
    long forks = Long.parseLong(parent.ask(row(1)).toString());
    ProcessHandle process = ProcessHandle.of(forks).orElseThrow();
    process.destroyForcibly();
    process.onExit().join();
    for (int i = 0; i < 20; i++) {
      parent.ask(row(i));
    }
    assertTrue(Long.parseLong(parent.ask(row(1)).toString()) != forks);
  }

  @Test
  void aProcessThatForksAndIsKilledLeavesNoFolder() throws Exception {
    Zygote forks = new Zygote(Settings.here());
    Path folder = forks.socket.getParent();
    assertTrue(Files.exists(forks.socket));
    forks.process.destroyForcibly();
    for (int i = 0; i < 1000 && Files.exists(folder); i++) {
      Thread.sleep(10);
    }
    assertTrue(!Files.exists(folder), folder.toString());
  }

  @Test
  void resultsAreBounded() throws Exception {
    assertEquals("Result", failure(call("def f(n):\n    return 'x' * 10_000_001", 60_000)).kind);
    assertEquals("MemoryError", failure(call("def f(n):\n    return 'x' * 2_000_000_000", 60_000)).kind);
    nextIsWell();
  }

  @Test
  void whatCannotBeLoadedFailsEachCall() throws Exception {
    Call none = call("import nowhere\ndef f(n):\n    pass", 60_000);
    for (int i = 0; i < 3; i++) {
      assertTrue(failure(none).getMessage().startsWith("ModuleNotFoundError"));
    }
    nextIsWell();
  }

  @Test
  void anInterruptEndsACallAndSpoilsNothing() throws Exception {
    Call sleeping = call("import time\ndef f(n):\n    time.sleep(600)", 600_000);
    AtomicReference<Throwable> ended = new AtomicReference<>();
    Thread thread = new Thread(() -> {
      try {
        sleeping.ask(row(1));
      } catch (Throwable e) {
        ended.set(e);
      }
    });
    thread.start();
    Thread.sleep(300);
    thread.interrupt();
    thread.join();
    assertSame(Unasked.class, ended.get().getClass());
    nextIsWell();
  }

  @Test
  void moreCallsThanWorkersWait() throws Exception {
    Call pid = call("import os, time\ndef f(n):\n    time.sleep(.005)\n    return str(os.getpid())", 60_000);
    Set<String> pids = java.util.concurrent.ConcurrentHashMap.newKeySet();
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < 12; i++) {
      Thread thread = new Thread(() -> {
        for (int n = 0; n < 10; n++) {
          pids.add(pid.ask(row(n)).toString());
        }
      });
      thread.start();
      threads.add(thread);
    }
    for (Thread thread : threads) {
      thread.join();
    }
    assertTrue(!pids.isEmpty() && pids.size() <= Settings.here().workers(), pids.toString());
  }

  @Test
  void failuresAreToldOnceAKindAndPrintsToo() throws Exception {
    Failures.take();
    Call call = call("def f(n):\n    print('seen', n)\n    raise NotImplementedError", 60_000);
    for (int i = 0; i < 5; i++) {
      assertNull(call.askOr(null, row(0)));
    }
    List<Object> told = Failures.take();
    assertEquals(2, told.size(), told.toString());
    assertTrue(told.toString().contains("reason=seen 0"), told.toString());
    assertTrue(told.toString().contains("line 3, in f"), told.toString());
    assertTrue(Failures.take().isEmpty());
  }

  @Test
  void ofManyKindsFewAreTold() throws Exception {
    String body = "def f(n):\n    raise type(f'Error{n}', (Exception,), {})('x\\ny')";
    Call call = Call.of(described(body, 60_000).replace("\"name\":\"F\"", "\"name\":\"MANY\""));
    Failures.take();
    for (int i = 0; i < 100; i++) {
      assertNull(call.askOr(null, row(i)));
    }
    List<Object> told = Failures.take();
    assertEquals(21, told.size(), told.toString());
    assertTrue(told.toString().contains("reason=Error7: x y (line 2)"), told.toString());
  }

  @Test
  void stopEndsTheQuery() throws Exception {
    Call call = call("def f(n):\n    return str(1 / n)", 60_000, "stop");
    Stopped ended = assertThrows(Stopped.class, () -> call.askOr(null, row(0)));
    assertEquals("function F: ZeroDivisionError: division by zero (line 2)", ended.getMessage());
    assertEquals(UTF8String.fromString("1.0"), call.askOr(null, row(1)));
  }
}
