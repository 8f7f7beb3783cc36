package ksqlpy.speedups;

import ksqlpy.internals.Speedup;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.parser.ParserInterface;
import org.apache.spark.sql.execution.SparkSqlParser;
import scala.runtime.AbstractFunction2;

/**
 * Spark's parser, with a short way for expressions as ksqlpy's plans have them. In a JVM that has just started Spark's
 * grammar needs 10 to 20 ms for each of a plan's hundred, and keeps the compiler busy besides; {@link ExpressionReader}
 * makes the same trees at once. For nested expressions Spark's grammar needs seconds, and hundreds of megabytes. All else
 * goes to Spark.
 */
public final class QuickParser extends SparkSqlParser {
  @Override
  public Expression parseExpression(String text) {
    Expression known = known(text);
    return known == null ? super.parseExpression(text) : known;
  }

  private static Expression known(String text) {
    try {
      return Speedup.EXPRESSION_READER.on() ? ExpressionReader.read(text) : null;
    } catch (LinkageError e) {
      Speedup.EXPRESSION_READER.failed(e);
      return null;
    }
  }

  /** Makes the parser of a session. */
  public static final class Maker extends AbstractFunction2<SparkSession, ParserInterface, ParserInterface> {
    public ParserInterface apply(SparkSession session, ParserInterface spark) {
      return new QuickParser();
    }
  }
}
