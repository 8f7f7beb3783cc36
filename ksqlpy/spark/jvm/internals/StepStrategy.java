package ksqlpy.internals;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.SparkStrategy;
import scala.Option;
import scala.collection.immutable.Seq;

/** Plans {@link StepNode}s, {@link InStepNode}s and {@link AheadNode}s as the operators of these names. */
public final class StepStrategy extends SparkStrategy {
  private static final long serialVersionUID = 1L;

  private StepStrategy() {}

  /** For the queries of a session that are started from now on. */
  public static void add(SparkSession session) {
    List<SparkStrategy> all = new ArrayList<>(Scala.list(session.experimental().extraStrategies()));
    all.removeIf(StepStrategy.class::isInstance);
    all.add(new StepStrategy());
    session.experimental().extraStrategies_$eq(Scala.seq(all));
  }

  @Override
  public Seq<SparkPlan> apply(LogicalPlan plan) {
    if (plan instanceof InStepNode node) {
      return Scala.seq(List.of(node.planned(planLater(node.input()))));
    }
    if (plan instanceof AheadNode node) {
      return Scala.seq(List.of(node.planned(planLater(node.input()))));
    }
    if (!(plan instanceof StepNode node)) {
      return Scala.seq(List.of());
    }
    SparkPlan child = planLater(node.input());
    return Scala.seq(
        List.of(new StepExec(node.step(), node.keys(), node.output(), child, Option.empty(), Option.empty())));
  }
}
