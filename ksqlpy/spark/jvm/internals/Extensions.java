package ksqlpy.internals;

import java.util.List;
import java.util.function.UnaryOperator;
import ksqlpy.speedups.KeptRule;
import ksqlpy.speedups.KeptStrategy;
import ksqlpy.speedups.QuickParser;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.ExpressionInfo;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.TryEval;
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import scala.Option;
import scala.Tuple3;
import scala.collection.immutable.Seq;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/**
 * What each session knows besides Spark's functions, by {@code spark.sql.extensions=ksqlpy.internals.Extensions}: {@code
 * ksqlpy_last_two}, see {@link LastTwo}, {@code ksqlpy_folded}, see {@link Folded}, {@code ksqlpy_text}, {@code ksqlpy_null} and {@code ksqlpy_field}, see {@link
 * EncodedLiterals}, {@code ksqlpy_try}, which is null where its argument throws, {@code
 * ksqlpy_bounded}, {@code ksqlpy_replace}, {@code ksqlpy_joined} and {@code ksqlpy_joined_with}, see {@link Bounded},
 * expressions without Spark's grammar, see {@link QuickParser}, and batches that are not optimized again, see {@link
 * KeptRule}.
 */
public final class Extensions extends AbstractFunction1<SparkSessionExtensions, BoxedUnit> {
  public BoxedUnit apply(SparkSessionExtensions extensions) {
    Orphan.watch();
    if (Speedup.EXPRESSION_READER.on()) {
      extensions.injectParser(new QuickParser.Maker());
    }
    if (Speedup.KEPT_PLANS.on()) {
      extensions.injectHintResolutionRule(new KeptRule.Maker()); // the first rules of all
      extensions.injectPlannerStrategy(new KeptStrategy.Maker());
    }
    add(extensions, "ksqlpy_last_two", LastTwo.class, new Of(LastTwo::new));
    add(extensions, "ksqlpy_folded", Folded.class, new Fold());
    add(extensions, "ksqlpy_text", EncodedLiterals.class, new EncodedLiterals.Text());
    add(extensions, "ksqlpy_null", EncodedLiterals.class, new EncodedLiterals.Null());
    add(extensions, "ksqlpy_field", EncodedLiterals.class, new EncodedLiterals.Field());
    add(extensions, "ksqlpy_try", TryEval.class, new Of(TryEval::new));
    add(extensions, "ksqlpy_bounded", Bounded.class, new Of(Extensions::bounded));
    add(extensions, "ksqlpy_replace", Bounded.class, new Text("replace"));
    add(extensions, "ksqlpy_joined", Bounded.class, new Text("joined"));
    add(extensions, "ksqlpy_joined_with", Bounded.class, new Text("joinedWith"));
    return BoxedUnit.UNIT;
  }

  private static void add(
      SparkSessionExtensions to, String name, Class<?> of, AbstractFunction1<Seq<Expression>, Expression> maker) {
    to.injectFunction(new Tuple3<>(new FunctionIdentifier(name), new ExpressionInfo(of.getName(), name), maker));
  }

  private static Expression bounded(Expression value) {
    String method = Bounded.of(value.dataType());
    return method == null ? value : invoke(method, value.dataType(), Scala.seq(List.of(value)));
  }

  private static Expression invoke(String method, DataType type, Seq<Expression> arguments) {
    return new StaticInvoke(
        Bounded.class, type, method, arguments, Scala.seq(List.of()), true, true, true, Option.empty());
  }

  /** A method of {@link Bounded} that gives a text. */
  private static final class Text extends AbstractFunction1<Seq<Expression>, Expression> {
    private final String method;

    Text(String method) {
      this.method = method;
    }

    public Expression apply(Seq<Expression> arguments) {
      return invoke(method, DataTypes.StringType, arguments);
    }
  }

  /** {@code ksqlpy_folded('digits', row)}: an aggregate in Python, by the bytes of its specification. */
  private static final class Fold extends AbstractFunction1<Seq<Expression>, Expression> {
    public Expression apply(Seq<Expression> arguments) {
      Literal digits = (Literal) EncodedLiterals.argument(arguments, 0);
      return new Folded(EncodedLiterals.text(digits.value().toString()), EncodedLiterals.argument(arguments, 1));
    }
  }

  /** An expression of one argument. */
  private static final class Of extends AbstractFunction1<Seq<Expression>, Expression> {
    private final UnaryOperator<Expression> maker;

    Of(UnaryOperator<Expression> maker) {
      this.maker = maker;
    }

    public Expression apply(Seq<Expression> arguments) {
      return maker.apply(EncodedLiterals.argument(arguments, 0));
    }
  }
}
