package ksqlpy.speedups;

import java.util.List;
import ksqlpy.internals.Scala;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;

/** Rows whose plan is optimized already, and that no rule looks into; see {@link KeptRule}. */
public final class KeptRows extends LogicalPlan {
  private static final long serialVersionUID = 1L;

  private final transient Rows rows;

  /** A plan, and the columns by which others know it. It is no plan itself, or rules would look into it. */
  static final class Rows {
    private final Seq<Attribute> output;
    private final LogicalPlan plan;

    Rows(Seq<Attribute> output, LogicalPlan plan) {
      this.output = output;
      this.plan = plan;
    }
  }

  /** Spark copies it by this constructor and {@link #productElement}. */
  public KeptRows(Rows rows) {
    this.rows = rows;
  }

  LogicalPlan plan() {
    return rows.plan;
  }

  @Override
  public Seq<Attribute> output() {
    return rows.output;
  }

  @Override
  public boolean isStreaming() {
    return true;
  }

  @Override
  public Seq<LogicalPlan> children() {
    return Scala.seq(List.of());
  }

  @Override
  public LogicalPlan withNewChildrenInternal(IndexedSeq<LogicalPlan> children) {
    return this;
  }

  @Override
  public int productArity() {
    return 1;
  }

  @Override
  public Object productElement(int index) {
    return rows;
  }

  @Override
  public boolean canEqual(Object other) {
    return other instanceof KeptRows;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof KeptRows that && rows == that.rows;
  }

  @Override
  public int hashCode() {
    return System.identityHashCode(rows);
  }
}
