package ksqlpy.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import ksqlpy.speedups.GeneratedCode;
import org.apache.spark.sql.catalyst.expressions.codegen.CodeAndComment;
import org.apache.spark.sql.catalyst.expressions.codegen.CodeGenerator$;
import org.apache.spark.sql.catalyst.expressions.codegen.GeneratedClass;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import scala.collection.immutable.Map$;

/** Executors are played by class loaders of this JVM: what is compiled with one is not found with another. */
final class SharedCodeTest {
  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static int number;

  @TempDir Path folder;
  private ClassLoader before;
  private String text;

  @BeforeEach
  void begin() {
    before = Thread.currentThread().getContextClassLoader();
    text = "public Object generate(Object[] references) { return references[0] + \"" + number++ + "\"; }";
    driver();
  }

  @AfterEach
  void end() {
    Thread.currentThread().setContextClassLoader(before);
  }

  /** A new driver, over the files of the one before. */
  private void driver() {
    ExecutorQuarantine.begin(null, folder.toString());
  }

  /** This thread is one of a new executor's from now on; what it tells the driver of. */
  private CodeExchange executor(String id) {
    Thread.currentThread().setContextClassLoader(new URLClassLoader(new URL[0], before));
    return new CodeExchange(id, report -> ExecutorQuarantine.exchange(MAPPER.valueToTree(report)));
  }

  private GeneratedClass compiled() {
    return (GeneratedClass)
        CodeGenerator$.MODULE$.compile(new CodeAndComment(text, Map$.MODULE$.empty()))._1();
  }

  private List<Path> files() throws IOException {
    try (Stream<Path> files = Files.list(folder)) {
      return files.toList();
    }
  }

  /** An executor compiles the text, and the driver has it. */
  private GeneratedClass compiledByAnother() throws Exception {
    CodeExchange one = executor("0");
    one.takeAll();
    long known = files().size();
    GeneratedClass there = compiled();
    one.takeAll();
    assertEquals(known + 1, files().size());
    return there;
  }

  private void assertTaken(CodeExchange exchange, GeneratedClass there) throws Exception {
    exchange.takeAll();
    long kept = GeneratedCode.count();
    GeneratedClass here = compiled();
    assertEquals(kept, GeneratedCode.count(), "it was compiled again");
    assertNotSame(there.getClass(), here.getClass());
    assertEquals(there.generate(new Object[] {"x"}), here.generate(new Object[] {"x"}));
  }

  @Test
  void anExecutorNeedNotCompileWhatAnotherHasCompiled() throws Exception {
    GeneratedClass there = compiledByAnother();
    assertTaken(executor("1"), there);
  }

  @Test
  void theNextDriverHasTheCode() throws Exception {
    GeneratedClass there = compiledByAnother();
    driver();
    assertTaken(executor("0"), there);
  }

  @Test
  void damagedCodeIsRemovedAndCompiledAgain() throws Exception {
    compiledByAnother();
    for (Path file : files()) {
      Files.write(file, new byte[] {1, 2, 3});
    }
    driver();
    CodeExchange exchange = executor("0");
    exchange.takeAll();
    exchange.takeAll(); // says what was damaged
    assertEquals(List.of(), files());
    GeneratedClass here = compiled();
    assertSame(here, compiled());
    exchange.takeAll();
    assertTaken(executor("1"), here);
  }

  @Test
  void withoutAFolderCodeIsSharedAllTheSame() throws Exception {
    ExecutorQuarantine.begin(null, null);
    CodeExchange one = executor("0");
    one.takeAll();
    GeneratedClass there = compiled();
    one.takeAll();
    assertTaken(executor("1"), there);
  }

  @Test
  void whatIsNotWrittenToTheEndIsRemoved() throws Exception {
    Files.write(folder.resolve("1-1.new"), new byte[] {1});
    driver();
    assertEquals(List.of(), files());
  }

  @Test
  void theOldestFilesAreRemoved() throws IOException {
    CodeFiles files = new CodeFiles(folder.toString());
    for (int i = 0; i < 5; i++) {
      files.write("code-" + i, new byte[] {(byte) i});
      folder.resolve("code-" + i).toFile().setLastModified(1000L * i);
    }
    assertEquals(List.of("code-2", "code-3", "code-4"), List.copyOf(files.read(3).keySet()));
    assertEquals(3, files().size());
  }
}
