package ksqlpy.python;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.security.SecureRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The process of Python that forks workers, see {@code ksqlpy/udfs/worker.py}. It ends with this JVM, and all with it. */
final class Zygote {
  private static final Logger LOG = LoggerFactory.getLogger(Zygote.class);

  /** What runs the others, which come over its input. */
  private static final String BOOT = "boot.py";

  private static final List<String> FILES = List.of("declare.py", "values.py", "worker.py");

  /** Bytes of the path of a socket. */
  private static final int LONGEST_PATH = 100;

  /** Seconds in which a worker comes. */
  private static final int PATIENCE = 20;

  /** Lines of a process that are logged in a second, and bytes of a line. */
  private static final int MOST_LINES = 20;

  private static final int LONGEST_LINE = 1000;

  final Process process;
  private final OutputStream input;
  private final ServerSocketChannel server;
  final Path socket;
  private final String token = HexFormat.of().formatHex(new SecureRandom().generateSeed(16));
  private final Map<Integer, CompletableFuture<SocketChannel>> awaited = new ConcurrentHashMap<>();
  private int last;

  Zygote(Settings settings) throws IOException {
    Path folder = folder();
    socket = folder.resolve("w");
    server = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
    server.bind(UnixDomainSocketAddress.of(socket), 64);
    ProcessBuilder builder = new ProcessBuilder(
        settings.executable(), "-s", "-c", new String(resource(BOOT), StandardCharsets.UTF_8));
    Map<String, String> environment = builder.environment();
    String path = environment.get("PATH");
    environment.clear(); // it may hold secrets
    environment.putAll(
        Map.of("PATH", path == null ? "/usr/bin:/bin" : path, "HOME", "/nonexistent", "LANG", "C.UTF-8"));
    environment.put("PYTHONHASHSEED", "0"); // sets have one order in all workers
    environment.put("PYTHONDONTWRITEBYTECODE", "1");
    environment.put("OPENBLAS_NUM_THREADS", "1");
    environment.put("OMP_NUM_THREADS", "1");
    builder.directory(new File("/"));
    builder.redirectOutput(ProcessBuilder.Redirect.DISCARD);
    process = builder.start();
    input = process.getOutputStream();
    ByteArrayOutputStream begin = new ByteArrayOutputStream();
    begin.writeBytes((FILES.size() + "\n").getBytes(StandardCharsets.US_ASCII));
    for (String file : FILES) {
      byte[] source = resource(file);
      begin.writeBytes(
          (file.replace(".py", "") + " " + source.length + "\n").getBytes(StandardCharsets.US_ASCII));
      begin.writeBytes(source);
    }
    begin.writeBytes(new ObjectMapper().writeValueAsBytes(settings.forWorkers(socket.toString(), token)));
    begin.write('\n');
    say(begin.toByteArray());
    daemon(this::log, "python output");
    daemon(this::accept, "python workers");
  }

  private static void daemon(Runnable run, String name) {
    Thread thread = new Thread(run, name);
    thread.setDaemon(true);
    thread.start();
  }

  private static Path folder() throws IOException {
    String tmp = System.getProperty("java.io.tmpdir");
    Path parent = Path.of(tmp.length() > LONGEST_PATH - 40 ? "/tmp" : tmp);
    return Files.createTempDirectory(parent, "python-"); // for this user only
  }

  private static byte[] resource(String file) throws IOException {
    try (InputStream found = Zygote.class.getResourceAsStream(file)) {
      if (found == null) {
        throw new IOException("the jar has no " + file);
      }
      return found.readAllBytes();
    }
  }

  boolean alive() {
    return process.isAlive();
  }

  /** A new worker. Throws IOException where none comes. */
  Worker fork() throws IOException, InterruptedException {
    int number;
    CompletableFuture<SocketChannel> comes = new CompletableFuture<>();
    synchronized (this) {
      number = ++last;
    }
    Integer key = Integer.valueOf(number);
    awaited.put(key, comes);
    try {
      say("fork " + number);
      for (long end = System.nanoTime() + PATIENCE * 1_000_000_000L; ; ) {
        try {
          return new Worker(this, number, comes.get(100, TimeUnit.MILLISECONDS));
        } catch (TimeoutException e) {
          if (!alive()) {
            throw new IOException("Python has ended with status " + process.exitValue());
          }
          if (System.nanoTime() - end > 0) {
            kill(number);
            throw new IOException("no worker came within " + PATIENCE + " s");
          }
        }
      }
    } catch (ExecutionException e) {
      throw new IOException(e.getCause());
    } finally {
      awaited.remove(key);
    }
  }

  /** Ends a worker, and what it has started. */
  void kill(int number) {
    order("kill " + number);
  }

  /** Raises a TimeoutError in what a worker runs. */
  void stop(int number) {
    order("stop " + number);
  }

  private void order(String line) {
    try {
      say(line);
    } catch (IOException e) {
      LOG.debug("Python has ended", e); // and all workers with it
    }
  }

  private void say(String line) throws IOException {
    say((line + "\n").getBytes(StandardCharsets.US_ASCII));
  }

  private synchronized void say(byte[] data) throws IOException {
    input.write(data);
    input.flush();
  }

  private void accept() {
    try {
      while (true) {
        SocketChannel channel = server.accept();
        String[] hello = line(channel).split(" ");
        CompletableFuture<SocketChannel> comes =
            hello.length == 3 && hello[0].equals(token) ? awaited.remove(Integer.valueOf(hello[1])) : null;
        if (comes == null || !comes.complete(channel)) {
          channel.close();
        }
      }
    } catch (IOException e) {
      LOG.warn("no more workers: {}", e.toString());
    }
  }

  private static String line(SocketChannel channel) throws IOException {
    ByteBuffer one = ByteBuffer.allocate(1);
    StringBuilder read = new StringBuilder();
    while (channel.read(one) > 0 && one.get(0) != '\n') {
      read.append((char) one.get(0));
      one.clear();
    }
    return read.toString();
  }

  /** Gives the lines, of which longer ones are cut: a function may write for ever without an end of line. */
  static void lines(InputStream from, Consumer<String> take) throws IOException {
    InputStream buffered = new BufferedInputStream(from);
    ByteArrayOutputStream line = new ByteArrayOutputStream();
    int next;
    do {
      next = buffered.read();
      if (next >= 0 && next != '\n') {
        if (line.size() < LONGEST_LINE) {
          line.write(next);
        }
      } else if (next >= 0 || line.size() > 0) {
        take.accept(line.toString(StandardCharsets.UTF_8).replaceAll("\\p{Cntrl}", " "));
        line.reset();
      }
    } while (next >= 0);
  }

  /** What workers write past Python's own streams, and what goes wrong in the process itself. */
  private void log() {
    try (InputStream output = process.getErrorStream()) {
      long[] second = {0, 0}; // when it began, and lines logged since
      lines(output, line -> {
        if (System.nanoTime() - second[0] > 1_000_000_000L) {
          second[0] = System.nanoTime();
          second[1] = 0;
        }
        if (second[1]++ < MOST_LINES) {
          LOG.warn("Python: {}", line);
        }
      });
    } catch (IOException e) {
      LOG.debug("the output of Python has ended", e);
    } finally {
      try {
        server.close();
        Files.deleteIfExists(socket); // a process that was killed leaves them
        Files.deleteIfExists(socket.getParent());
      } catch (IOException e) {
        LOG.debug("not closed", e);
      }
    }
  }
}
