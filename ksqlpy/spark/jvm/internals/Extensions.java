package ksqlpy.internals;

import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.ExpressionInfo;
import org.apache.spark.sql.catalyst.expressions.TryEval;
import scala.Tuple3;
import scala.collection.immutable.Seq;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/**
 * What each session knows besides Spark's functions, by {@code spark.sql.extensions=ksqlpy.internals.Extensions}: {@code
 * ksqlpy_last_two}, see {@link LastTwo}, {@code ksqlpy_text}, {@code ksqlpy_null} and {@code ksqlpy_field}, see {@link
 * Passed}, {@code ksqlpy_try}, which is null where its argument throws, and expressions without Spark's grammar, see
 * {@link QuickParser}.
 */
public final class Extensions extends AbstractFunction1 {
  public Object apply(Object extensions) {
    SparkSessionExtensions known = (SparkSessionExtensions) extensions;
    known.injectParser(new QuickParser.Maker());
    add(known, "ksqlpy_last_two", LastTwo.class, new Maker());
    add(known, "ksqlpy_text", Passed.class, new Passed.Text());
    add(known, "ksqlpy_null", Passed.class, new Passed.Null());
    add(known, "ksqlpy_field", Passed.class, new Passed.Field());
    add(known, "ksqlpy_try", TryEval.class, new TryMaker());
    return BoxedUnit.UNIT;
  }

  private static void add(SparkSessionExtensions to, String name, Class of, AbstractFunction1 maker) {
    to.injectFunction(new Tuple3(new FunctionIdentifier(name), new ExpressionInfo(of.getName(), name), maker));
  }

  private static final class Maker extends AbstractFunction1 {
    public Object apply(Object arguments) {
      return new LastTwo((Expression) ((Seq) arguments).apply(0));
    }
  }

  private static final class TryMaker extends AbstractFunction1 {
    public Object apply(Object arguments) {
      return new TryEval((Expression) ((Seq) arguments).apply(0));
    }
  }
}
