package ksqlpy.speedups;

import java.util.List;
import ksqlpy.internals.Scala;
import ksqlpy.source.PlanHolder;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreePattern;
import org.apache.spark.sql.execution.streaming.sources.WriteToMicroBatchDataSource;
import scala.Enumeration;
import scala.collection.immutable.Seq;
import scala.runtime.AbstractFunction1;

/**
 * Gives a batch the optimized plan of the batch before it, see {@link KeptPlan}: at a checkpoint results wait until
 * Spark has planned the next batch, and two thirds of that is its optimizer.
 *
 * <p>Plans with the time of the batch, or with a seed of chance, which are new in each batch, are optimized each time.
 */
public final class KeptRule extends Rule<LogicalPlan> {
  private static final Seq<Enumeration.Value> NEW_IN_EACH =
      Scala.seq(List.of(TreePattern.CURRENT_LIKE(), TreePattern.EXPRESSION_WITH_RANDOM_SEED()));

  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    if (!(plan instanceof WriteToMicroBatchDataSource write) || write.query() instanceof KeptRows) {
      return plan;
    }
    LogicalPlan given = write.query();
    PlanHolder holder = KeptPlan.holder(given);
    if (holder == null || given.containsAnyPattern(NEW_IN_EACH)) {
      return plan;
    }
    LogicalPlan kept = holder.plan() instanceof KeptPlan known ? known.of(given) : null;
    if (kept == null) {
      holder.plan(new KeptPlan(given));
      return plan;
    }
    return plan.withNewChildren(Scala.seq(List.of(new KeptRows(new KeptRows.Rows(given.output(), kept)))));
  }

  /** Makes the rule of a session. */
  public static final class Maker extends AbstractFunction1<SparkSession, Rule<LogicalPlan>> {
    public Rule<LogicalPlan> apply(SparkSession session) {
      return new KeptRule();
    }
  }
}
