package ksqlpy.speedups;

import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import ksqlpy.internals.Scala;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.FilterExec;
import org.apache.spark.sql.execution.InputAdapter;
import org.apache.spark.sql.execution.LocalTableScanExec;
import org.apache.spark.sql.execution.ProjectExec;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.WholeStageCodegenExec;
import org.apache.spark.sql.execution.datasources.v2.StreamingDataSourceV2ScanRelation;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Plans queries that run again and again, without running them. A JVM compiles what it runs often. Spark's planner and what
 * makes its code run once a checkpoint only, so they would be slow for many checkpoints, while results wait for them.
 *
 * <p>It ends after so many plans of a JVM: then their code is compiled, whoever the query is.
 */
final class PlannedAhead implements Runnable {
  private static final Logger LOG = LoggerFactory.getLogger(PlannedAhead.class);

  /** Plans of a query, and of all queries of a JVM. */
  private static final int OF_A_QUERY = 25;

  private static final int OF_ALL = 75;

  /** Ms until a query has started. */
  private static final long FIRST = 5_000;

  /** Ms between two plans: one takes 20 to 200 ms of a processor that may be wanted elsewhere. */
  private static final long PAUSE = 500;

  private static final AtomicInteger LEFT = new AtomicInteger(OF_ALL);
  private static ScheduledExecutorService planner;

  private final SparkSession session;
  private final LogicalPlan plan;
  private int left = OF_A_QUERY;

  private PlannedAhead(SparkSession session, LogicalPlan plan) {
    this.session = session;
    this.plan = plan;
  }

  /** Begins with this plan of a query in the background, unless enough were planned. */
  static void begin(SparkSession session, LogicalPlan optimized) {
    if (LEFT.get() > 0) {
      new PlannedAhead(session, withoutStream(optimized)).later(FIRST);
    }
  }

  private void later(long wait) {
    synchronized (PlannedAhead.class) {
      if (planner == null) {
        planner =
            Executors.newSingleThreadScheduledExecutor(
                work -> {
                  Thread thread = new Thread(work, "plans ahead");
                  thread.setDaemon(true);
                  thread.setPriority(Thread.MIN_PRIORITY);
                  return thread;
                });
      }
      planner.schedule(this, wait, TimeUnit.MILLISECONDS);
    }
  }

  @Override
  public void run() {
    if (LEFT.getAndDecrement() <= 0) { // of queries that began together
      return;
    }
    SparkSession.setActiveSession(session);
    try {
      generate(QueryExecution.prepareExecutedPlan(session, plan));
    } catch (Exception | LinkageError e) { // such as a step with a state, which only a query that runs can plan
      LOG.debug("not planned ahead", e);
      left = 0;
    } finally {
      SparkSession.clearActiveSession();
    }
    if (--left > 0) {
      later(PAUSE);
    }
  }

  /** Makes the texts of code for columns and conditions: of other operators that may run something. */
  private static void generate(SparkPlan plan) {
    if (plan instanceof WholeStageCodegenExec stage && isPlain(stage.child())) {
      stage.doCodeGen();
    }
    for (SparkPlan child : Scala.list(plan.children())) {
      generate(child);
    }
  }

  private static boolean isPlain(SparkPlan plan) {
    if (plan instanceof InputAdapter || plan instanceof LocalTableScanExec) {
      return true;
    }
    return (plan instanceof ProjectExec || plan instanceof FilterExec)
        && Scala.list(plan.children()).stream().allMatch(PlannedAhead::isPlain);
  }

  /** The plan over no rows: a stream would ask brokers for its offsets. */
  private static LogicalPlan withoutStream(LogicalPlan plan) {
    if (plan instanceof StreamingDataSourceV2ScanRelation relation) {
      List<Attribute> output = List.copyOf(Scala.list(relation.output()));
      return new LocalRelation(Scala.seq(output), Scala.seq(List.of()), true, scala.Option.empty());
    }
    List<LogicalPlan> children = Scala.list(plan.children());
    if (children.isEmpty()) {
      return plan;
    }
    return plan.withNewChildren(Scala.seq(children.stream().map(PlannedAhead::withoutStream).toList()));
  }
}
