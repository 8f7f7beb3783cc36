package ksqlpy.internals;

import java.util.List;
import java.util.Objects;
import ksqlpy.python.Folding;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.aggregate.DeclarativeAggregate;
import org.apache.spark.sql.catalyst.expressions.objects.Invoke;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.ObjectType;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;

/**
 * An aggregate in Python: {@code ksqlpy_folded(what, STRUCT<come STRUCT [, gone STRUCT]>)}, see {@link Folding}.
 *
 * <p>An aggregate of Spark's own kind, so that the state store has the state as the SQL type that it was declared with.
 * One of the kind that connectors bring would have bytes there, which say nothing.
 */
final class Folded extends DeclarativeAggregate {
  private static final long serialVersionUID = 1L;

  private final String what;
  private final Expression row;
  private final Folding folding;
  private final AttributeReference cell;

  /** {@code what}: the specification of {@link Folding}. */
  Folded(String what, Expression row) {
    this.what = what;
    this.row = row;
    this.folding = new Folding(what, row.resolved() ? (StructType) row.dataType() : new StructType());
    this.cell = Attributes.of(DataTypes.createStructField("folded", folding.cell(), true));
  }

  private Expression call(String method, DataType type, Expression... arguments) {
    Expression target = new Literal(folding, new ObjectType(Folding.class));
    return new Invoke(target, method, type, Scala.seq(List.of(arguments)), Scala.seq(List.of()), false, true, true);
  }

  public Seq<AttributeReference> aggBufferAttributes() {
    return Scala.seq(List.of(cell));
  }

  public Seq<Expression> initialValues() {
    return Scala.seq(List.of(Literal.create(null, folding.cell())));
  }

  public Seq<Expression> updateExpressions() {
    return Scala.seq(List.of(call("update", folding.cell(), cell, row)));
  }

  public Seq<Expression> mergeExpressions() {
    Attribute other = Scala.list(inputAggBufferAttributes()).get(0);
    return Scala.seq(List.of(call("merge", folding.cell(), cell, other)));
  }

  public Expression evaluateExpression() {
    return call("result", dataType(), cell);
  }

  public DataType dataType() {
    return folding.result();
  }

  public boolean nullable() {
    return true;
  }

  public Seq<Expression> children() {
    return Scala.seq(List.of(row));
  }

  public Expression withNewChildrenInternal(IndexedSeq<Expression> children) {
    return new Folded(what, Scala.list(children).get(0));
  }

  public String prettyName() {
    return "folded";
  }

  public int productArity() {
    return 2;
  }

  public Object productElement(int index) {
    return index == 0 ? what : row;
  }

  public boolean canEqual(Object other) {
    return other instanceof Folded;
  }

  public boolean equals(Object other) {
    return other instanceof Folded that && that.what.equals(what) && that.row.equals(row);
  }

  public int hashCode() {
    return Objects.hash(what, row);
  }
}
