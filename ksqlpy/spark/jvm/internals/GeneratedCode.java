package ksqlpy.internals;

import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.codegen.CodeAndComment;
import org.apache.spark.sql.catalyst.expressions.codegen.CodeGenerator$;
import org.apache.spark.util.NonFateSharingCache;
import scala.Tuple3;

/**
 * The Java code that Spark generates for plans. Each JVM compiles it when it runs a task of the plan for the first time,
 * and finds it again by its text.
 */
public final class GeneratedCode {
  private GeneratedCode() {}

  /** How many texts this JVM has compiled and kept. */
  public static long count() throws ReflectiveOperationException {
    return cache().size();
  }

  /** The texts. */
  public static List<String> texts() throws ReflectiveOperationException {
    List<String> found = new ArrayList<>();
    for (Object key : cache().cache().asMap().keySet()) {
      found.add(((CodeAndComment) ((Tuple3<?, ?, ?>) key)._3()).body());
    }
    return found;
  }

  /** Compiles one and keeps it; with the class loader of this thread, which must be that of tasks. */
  public static void compile(String text) {
    CodeGenerator$.MODULE$.compile(new CodeAndComment(text, Scala.map()));
  }

  /** Spark's cache of what is compiled; nobody else may look at it, so by reflection. */
  private static NonFateSharingCache<?, ?> cache() throws ReflectiveOperationException {
    Method held = CodeGenerator$.class.getDeclaredMethod("cache");
    held.setAccessible(true);
    return (NonFateSharingCache<?, ?>) held.invoke(CodeGenerator$.MODULE$);
  }
}
