package ksqlpy.speedups;

import java.util.List;
import java.util.Objects;
import ksqlpy.internals.Scala;
import ksqlpy.source.PlanHolder;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.datasources.v2.StreamingDataSourceV2ScanRelation;

/**
 * What Spark's optimizer has made of the rows that a batch of a query writes.
 *
 * <p>The batches of one run differ in the offsets at which they begin and end, and these mean nothing to the optimizer.
 */
final class KeptPlan {
  private final LogicalPlan given;
  private LogicalPlan optimized;

  /** {@code given}: as the batch had it, with its offsets. */
  KeptPlan(LogicalPlan given) {
    this.given = given;
  }

  /** The stream that a plan reads; null if it does not hold plans, or is not the only one: each has its offsets. */
  static PlanHolder holder(LogicalPlan plan) {
    List<StreamingDataSourceV2ScanRelation> read = read(plan);
    boolean one = read.stream().map(StreamingDataSourceV2ScanRelation::stream).distinct().count() == 1;
    return one && read.get(0).stream() instanceof PlanHolder holder ? holder : null;
  }

  private static List<StreamingDataSourceV2ScanRelation> read(LogicalPlan plan) {
    if (plan instanceof StreamingDataSourceV2ScanRelation relation) {
      return List.of(relation);
    }
    return Scala.list(plan.children()).stream().flatMap(child -> read(child).stream()).toList();
  }

  /** Says what the optimizer made of it; whether that was not known. */
  boolean optimized(LogicalPlan made) {
    boolean first = optimized == null;
    optimized = made;
    return first;
  }

  /** The optimized plan of a batch with this plan; null if it differs in more than offsets, or none is known. */
  LogicalPlan of(LogicalPlan batch) {
    return optimized != null && same(given, batch) ? moved(optimized, read(batch).get(0)) : null;
  }

  private static boolean same(LogicalPlan one, LogicalPlan other) {
    if (one == other) {
      return true;
    }
    if (one.getClass() != other.getClass() || one.productArity() != other.productArity()) {
      return false;
    }
    if (one instanceof StreamingDataSourceV2ScanRelation a && other instanceof StreamingDataSourceV2ScanRelation b) {
      return a.stream() == b.stream() && a.output().equals(b.output());
    }
    List<LogicalPlan> ours = Scala.list(one.children());
    List<LogicalPlan> theirs = Scala.list(other.children());
    if (ours.size() != theirs.size()) {
      return false;
    }
    for (int i = 0; i < ours.size(); i++) {
      if (!same(ours.get(i), theirs.get(i))) {
        return false;
      }
    }
    for (int i = 0; i < one.productArity(); i++) {
      Object value = one.productElement(i);
      boolean compared = value == one.children() || ours.stream().anyMatch(child -> child == value);
      if (!compared && !Objects.equals(value, other.productElement(i))) {
        return false;
      }
    }
    return true;
  }

  /** The plan with the offsets of that relation. */
  private static LogicalPlan moved(LogicalPlan plan, StreamingDataSourceV2ScanRelation to) {
    if (plan instanceof StreamingDataSourceV2ScanRelation from) {
      return from.copy(
          from.relation(), from.scan(), from.output(), from.stream(), to.startOffset(), to.endOffset());
    }
    List<LogicalPlan> children = Scala.list(plan.children());
    if (children.isEmpty()) {
      return plan;
    }
    return plan.withNewChildren(Scala.seq(children.stream().map(child -> moved(child, to)).toList()));
  }
}
