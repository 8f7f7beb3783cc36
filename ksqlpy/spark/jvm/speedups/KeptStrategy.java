package ksqlpy.speedups;

import java.util.List;
import ksqlpy.internals.Scala;
import ksqlpy.source.PlanHolder;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.FilterExec;
import org.apache.spark.sql.execution.ProjectExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.SparkStrategy;
import org.apache.spark.sql.execution.datasources.v2.WriteToDataSourceV2;
import scala.collection.immutable.Seq;
import scala.runtime.AbstractFunction1;

/**
 * Keeps the optimized plan of a batch, and plans what {@link KeptRule} gives to a later one.
 *
 * <p>It plans the columns and conditions over a stream, too, as Spark does. Spark first looks for tables of files below
 * each of them, and how they would be read: for that it works through all expressions again and again.
 */
public final class KeptStrategy extends SparkStrategy {
  private static final long serialVersionUID = 1L;

  private final transient SparkSession session;

  private KeptStrategy(SparkSession session) {
    this.session = session;
  }

  @Override
  @SuppressWarnings("deprecation") // Spark's own node of what a batch writes
  public Seq<SparkPlan> apply(LogicalPlan plan) {
    if (plan instanceof KeptRows rows) {
      return Scala.seq(List.of(planLater(rows.plan())));
    }
    if (plan.isStreaming() && plan instanceof Project project) {
      return Scala.seq(List.of(new ProjectExec(project.projectList(), planLater(project.child()))));
    }
    if (plan.isStreaming() && plan instanceof Filter filter) {
      return Scala.seq(List.of(new FilterExec(filter.condition(), planLater(filter.child()))));
    }
    if (plan instanceof WriteToDataSourceV2 write) {
      PlanHolder holder = KeptPlan.holder(write.query());
      boolean begins = holder != null && holder.plan() instanceof KeptPlan kept && kept.optimized(write.query());
      if (begins) {
        PlannedAhead.begin(session, write.query());
      }
    }
    return Scala.seq(List.of());
  }

  /** Makes the strategy of a session. */
  public static final class Maker extends AbstractFunction1<org.apache.spark.sql.SparkSession, SparkStrategy> {
    public SparkStrategy apply(org.apache.spark.sql.SparkSession session) {
      return new KeptStrategy((org.apache.spark.sql.classic.SparkSession) session);
    }
  }
}
