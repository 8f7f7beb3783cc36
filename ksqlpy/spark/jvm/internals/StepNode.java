package ksqlpy.internals;

import java.util.List;
import java.util.Objects;
import ksqlpy.steps.Step;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;

/** A {@link Step} in Spark's logical plan. Spark knows nothing of it, so no rule changes it or moves anything past it. */
public final class StepNode extends LogicalPlan {
  private static final long serialVersionUID = 1L;

  private final Step step;
  private final Seq<Expression> keys;
  private final Seq<Attribute> given;
  private final LogicalPlan input;

  /** {@code keys}: what the rows of one key share; {@code given}: the columns of the rows that come out. */
  public StepNode(Step step, Seq<Expression> keys, Seq<Attribute> given, LogicalPlan input) {
    this.step = step;
    this.keys = keys;
    this.given = given;
    this.input = input;
  }

  Step step() {
    return step;
  }

  Seq<Expression> keys() {
    return keys;
  }

  LogicalPlan input() {
    return input;
  }

  @Override
  public Seq<Attribute> output() {
    return given;
  }

  @Override
  public AttributeSet producedAttributes() {
    return outputSet();
  }

  /** All columns: a step finds them by their names. */
  @Override
  public AttributeSet references() {
    return input.outputSet();
  }

  @Override
  public Seq<LogicalPlan> children() {
    return Scala.seq(List.of(input));
  }

  @Override
  public LogicalPlan withNewChildrenInternal(IndexedSeq<LogicalPlan> children) {
    return new StepNode(step, keys, given, Scala.list(children).get(0));
  }

  @Override
  public int productArity() {
    return 4;
  }

  @Override
  public Object productElement(int index) {
    return switch (index) {
      case 0 -> step;
      case 1 -> keys;
      case 2 -> given;
      case 3 -> input;
      default -> throw new IndexOutOfBoundsException(index);
    };
  }

  @Override
  public boolean canEqual(Object other) {
    return other instanceof StepNode;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof StepNode that
        && step == that.step
        && keys.equals(that.keys)
        && given.equals(that.given)
        && input.equals(that.input);
  }

  @Override
  public int hashCode() {
    return Objects.hash(step, keys, input);
  }
}
