package ksqlpy.speedups;

import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.HashMap;
import java.util.Map;
import ksqlpy.internals.Scala;
import org.apache.spark.sql.catalyst.encoders.HashableWeakReference;
import org.apache.spark.sql.catalyst.expressions.codegen.ByteCodeStats;
import org.apache.spark.sql.catalyst.expressions.codegen.CodeAndComment;
import org.apache.spark.sql.catalyst.expressions.codegen.CodeCompiler;
import org.apache.spark.sql.catalyst.expressions.codegen.CodeGenerator$;
import org.apache.spark.sql.catalyst.expressions.codegen.GeneratedClass;
import org.apache.spark.sql.catalyst.expressions.codegen.JaninoCodeCompiler$;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.internal.SQLConf$;
import org.apache.spark.util.NonFateSharingCache;
import org.apache.spark.util.ParentClassLoader;
import org.codehaus.commons.compiler.util.reflect.ByteArrayClassLoader;
import scala.Tuple2;
import scala.Tuple3;

/**
 * The Java code that Spark generates for plans. Each JVM compiles it when it runs a task of the plan for the first time,
 * and finds it again by its text.
 */
public final class GeneratedCode {
  private GeneratedCode() {}

  /** As ksqlpy/spark/session.py has it for the threads of a session; this class may be the first to use the cache. */
  private static final String MOST = "1000";

  static {
    SQLConf settings = new SQLConf();
    settings.setConfString("spark.sql.codegen.cache.maxEntries", MOST);
    SQLConf$.MODULE$.withExistingConf(settings, () -> CodeGenerator$.MODULE$);
  }

  /** How many texts this JVM has compiled and kept, for all class loaders. */
  public static long count() throws ReflectiveOperationException {
    return cache().size();
  }

  /** What is kept for the class loader of this thread, by text: for {@link #of}. */
  public static Map<String, Object> kept() throws ReflectiveOperationException {
    ClassLoader tasks = Thread.currentThread().getContextClassLoader();
    Map<String, Object> found = new HashMap<>();
    for (Map.Entry<?, ?> one : cache().cache().asMap().entrySet()) {
      Tuple3<?, ?, ?> key = (Tuple3<?, ?, ?>) one.getKey();
      if (((HashableWeakReference) key._1()).get() == tasks) {
        found.put(((CodeAndComment) key._3()).body(), one.getValue());
      }
    }
    return found;
  }

  /** A text with its classes; null where another compiler than Janino, Spark's own, has made them. */
  public static CompiledCode of(String text, Object kept) throws ReflectiveOperationException {
    Tuple2<?, ?> pair = (Tuple2<?, ?>) kept;
    ByteCodeStats sizes = (ByteCodeStats) pair._2();
    if (!(pair._1().getClass().getClassLoader() instanceof ByteArrayClassLoader loader)) {
      return null;
    }
    Field held = ByteArrayClassLoader.class.getDeclaredField("classes");
    held.setAccessible(true);
    Map<String, byte[]> classes = new HashMap<>();
    ((Map<?, ?>) held.get(loader)).forEach((name, bytes) -> classes.put((String) name, (byte[]) bytes));
    return new CompiledCode(
        text, classes, new int[] {sizes.maxMethodCodeSize(), sizes.maxConstPoolSize(), sizes.numInnerClasses()});
  }

  /** Keeps code as if this JVM had compiled it; with the class loader of this thread, which must be that of tasks. */
  public static void keep(CompiledCode code) throws ReflectiveOperationException {
    ClassLoader tasks = Thread.currentThread().getContextClassLoader();
    ClassLoader loader = new ByteArrayClassLoader(code.classes(), new ParentClassLoader(tasks));
    Object generated = loader.loadClass(CodeCompiler.GeneratedClassName()).getConstructor().newInstance();
    int[] sizes = code.sizes();
    put(
        cache(),
        new Tuple3<>(
            new HashableWeakReference(tasks),
            JaninoCodeCompiler$.MODULE$,
            new CodeAndComment(code.text(), Scala.map())),
        new Tuple2<>((GeneratedClass) generated, new ByteCodeStats(sizes[0], sizes[1], sizes[2])));
  }

  @SuppressWarnings("unchecked")
  private static <K, V> void put(NonFateSharingCache<K, V> cache, Object key, Object value) {
    cache.cache().asMap().putIfAbsent((K) key, (V) value);
  }

  /** Spark's cache of what is compiled; nobody else may look at it, so by reflection. */
  private static NonFateSharingCache<?, ?> cache() throws ReflectiveOperationException {
    Method held = CodeGenerator$.class.getDeclaredMethod("cache");
    held.setAccessible(true);
    return (NonFateSharingCache<?, ?>) held.invoke(CodeGenerator$.MODULE$);
  }
}
