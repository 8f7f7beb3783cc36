package ksqlpy.internals;

import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.CreateNamedStruct;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.If;
import org.apache.spark.sql.catalyst.expressions.IsNull;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.aggregate.DeclarativeAggregate;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.List$;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The last two values of the group that are not null: {@code (T) → STRUCT<`before` T, `now` T>}.
 *
 * <p>An aggregate of Spark's own kind, made of its expressions: its state is two cells beside those of the other
 * aggregates. One of the kind that connectors bring would turn its state into bytes and back at every row.
 */
public final class LastTwo extends DeclarativeAggregate {
  private static final long serialVersionUID = 1L;

  private final Expression value;
  private final AttributeReference before;
  private final AttributeReference now;

  public LastTwo(Expression value) {
    this.value = value;
    DataType type = value.resolved() ? value.dataType() : DataTypes.NullType;
    this.before = Attributes.of(DataTypes.createStructField("before", type, true));
    this.now = Attributes.of(DataTypes.createStructField("now", type, true));
  }

  private static <T> Seq<T> seq(List<T> items) {
    return List$.MODULE$.from(CollectionConverters.asScala(items));
  }

  private static Seq<Expression> expressions(Expression... items) {
    return seq(List.of(items));
  }

  public Seq<AttributeReference> aggBufferAttributes() {
    return seq(List.of(before, now));
  }

  public Seq<Expression> initialValues() {
    return expressions(nothing(), nothing());
  }

  private Expression nothing() {
    Attribute cell = now;
    return new Literal(null, cell.dataType());
  }

  public Seq<Expression> updateExpressions() {
    return expressions(new If(new IsNull(value), before, now), either(value, now));
  }

  public Seq<Expression> mergeExpressions() {
    List<AttributeReference> in = CollectionConverters.asJava(inputAggBufferAttributes());
    AttributeReference beforeIn = in.get(0);
    AttributeReference nowIn = in.get(1);
    Expression previous = either(beforeIn, now);
    return expressions(new If(new IsNull(nowIn), before, previous), either(nowIn, now));
  }

  private static Expression either(Expression first, Expression second) {
    return new If(new IsNull(first), second, first);
  }

  public Expression evaluateExpression() {
    return new CreateNamedStruct(expressions(name("before"), before, name("now"), now));
  }

  private static Literal name(String text) {
    return new Literal(UTF8String.fromString(text), DataTypes.StringType);
  }

  public DataType dataType() {
    return new StructType(
        new StructField[] {
          DataTypes.createStructField("before", value.dataType(), true),
          DataTypes.createStructField("now", value.dataType(), true)
        });
  }

  public boolean nullable() {
    return false;
  }

  public Seq<Expression> children() {
    return expressions(value);
  }

  public Expression withNewChildrenInternal(IndexedSeq<Expression> children) {
    return new LastTwo(CollectionConverters.asJava(children).get(0));
  }

  public String prettyName() {
    return "last_two";
  }

  public int productArity() {
    return 1;
  }

  public Object productElement(int index) {
    return value;
  }

  public boolean canEqual(Object other) {
    return other instanceof LastTwo;
  }

  public boolean equals(Object other) {
    return other instanceof LastTwo that && that.value.equals(value);
  }

  public int hashCode() {
    return value.hashCode();
  }
}
