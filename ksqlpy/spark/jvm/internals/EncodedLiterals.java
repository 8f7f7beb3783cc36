package ksqlpy.internals;

import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction1;

/**
 * What users wrote, on its way through the texts of plans: as bytes in hexadecimal digits, or by its number, so that
 * nobody who reads such a text can take it for something else. Here it becomes what it is (functions/sparktext.py).
 */
public final class EncodedLiterals {
  private EncodedLiterals() {}

  /** The text of hexadecimal digits, two for each byte of UTF-8. */
  public static String text(String digits) {
    return new String(HexFormat.of().parseHex(digits), StandardCharsets.UTF_8);
  }

  /** The literal of a text that stands in hexadecimal digits. */
  public static Expression literal(String digits) {
    return Literal.create(UTF8String.fromBytes(HexFormat.of().parseHex(digits)), DataTypes.StringType);
  }

  private static String digits(Expression literal) {
    return ((Literal) literal).value().toString();
  }

  /** One of the arguments of a call. */
  static Expression argument(Seq<Expression> arguments, int index) {
    return CollectionConverters.asJava(arguments).get(index);
  }

  /** {@code ksqlpy_text('digits')}: a literal. */
  static final class Text extends AbstractFunction1<Seq<Expression>, Expression> {
    public Expression apply(Seq<Expression> arguments) {
      return literal(digits(argument(arguments, 0)));
    }
  }

  /** {@code ksqlpy_null('digits')}: the null of a type, which is described in Spark's JSON. */
  static final class Null extends AbstractFunction1<Seq<Expression>, Expression> {
    public Expression apply(Seq<Expression> arguments) {
      DataType type = DataType.fromJson(text(digits(argument(arguments, 0))));
      return Literal.create(null, type);
    }
  }

  /** {@code ksqlpy_field(struct, n)}: its n-th field, from 0. */
  static final class Field extends AbstractFunction1<Seq<Expression>, Expression> {
    public Expression apply(Seq<Expression> arguments) {
      int number = (Integer) ((Literal) argument(arguments, 1)).value();
      return new GetStructField(argument(arguments, 0), number, Option.empty());
    }
  }
}
