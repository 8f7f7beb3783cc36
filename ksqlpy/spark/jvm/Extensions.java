package ksqlpy;

import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.ExpressionInfo;
import scala.Tuple3;
import scala.collection.immutable.Seq;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/**
 * What each session knows besides Spark's functions, by {@code spark.sql.extensions=ksqlpy.Extensions}: {@code
 * ksqlpy_last_two}, see {@link LastTwo}, and expressions without Spark's grammar, see {@link QuickParser}.
 */
public final class Extensions extends AbstractFunction1 {
  public Object apply(Object extensions) {
    String name = "ksqlpy_last_two";
    SparkSessionExtensions known = (SparkSessionExtensions) extensions;
    known.injectParser(new QuickParser.Maker());
    known.injectFunction(
        new Tuple3(new FunctionIdentifier(name), new ExpressionInfo(LastTwo.class.getName(), name), new Maker()));
    return BoxedUnit.UNIT;
  }

  private static final class Maker extends AbstractFunction1 {
    public Object apply(Object arguments) {
      return new LastTwo((Expression) ((Seq) arguments).apply(0));
    }
  }
}
