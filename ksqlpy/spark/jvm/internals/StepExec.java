package ksqlpy.internals;

import java.util.List;
import ksqlpy.steps.Step;
import org.apache.spark.TaskContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.plans.physical.Distribution;
import org.apache.spark.sql.catalyst.plans.physical.Partitioning;
import org.apache.spark.sql.catalyst.plans.physical.UnknownPartitioning;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.streaming.operators.stateful.StatefulOperatorPartitioning$;
import org.apache.spark.sql.execution.streaming.operators.stateful.StatefulOperatorStateInfo;
import org.apache.spark.sql.execution.streaming.operators.stateful.StreamingGlobalLimitExec;
import org.apache.spark.sql.execution.streaming.state.NoPrefixKeyStateEncoderSpec;
import org.apache.spark.sql.execution.streaming.state.StateStore;
import org.apache.spark.sql.execution.streaming.state.package$;
import org.apache.spark.sql.internal.SessionState;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.util.TaskCompletionListener;
import scala.Option;
import scala.collection.Iterator;
import scala.collection.immutable.Seq;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;
import scala.runtime.AbstractFunction2;

/**
 * A {@link Step} on Spark: rows of one key in one task, one after the other as they come, each of which may bring about
 * any number of rows at once. Its state is a state store of Spark's with column families, of the session's provider.
 *
 * <p>Spark gives an operator its place in the checkpoint only if it knows the operator. So this one is Spark's limit of
 * a stream by its class: that is copied when it gets its state, keeps the order of its rows in micro-batches, and asks
 * nothing else. All that it does is replaced. {@code transformWithState}, the other host that was tried, sorts the rows
 * of a micro-batch by key, so that a stream time of several keys would jump, and refuses a state store other than
 * Spark's.
 */
public final class StepExec extends StreamingGlobalLimitExec {
  private static final long serialVersionUID = 1L;

  private final Step step;
  private final Seq<Expression> keys;
  private final Seq<Attribute> given;

  /** Spark copies it by this constructor and {@link #productElement}. */
  public StepExec(
      Step step,
      Seq<Expression> keys,
      Seq<Attribute> output,
      SparkPlan child,
      Option<StatefulOperatorStateInfo> info,
      Option<OutputMode> mode) {
    super(0L, child, info, mode);
    this.step = step;
    this.keys = keys;
    this.given = output;
  }

  @Override
  public StreamingGlobalLimitExec copy(
      long limit, SparkPlan child, Option<StatefulOperatorStateInfo> info, Option<OutputMode> mode) {
    return new StepExec(step, keys, given, child, info, mode);
  }

  @Override
  public StreamingGlobalLimitExec withNewChildInternal(SparkPlan child) {
    return new StepExec(step, keys, given, child, stateInfo(), outputMode());
  }

  @Override
  public int productArity() {
    return 6;
  }

  @Override
  public Object productElement(int index) {
    return switch (index) {
      case 0 -> step;
      case 1 -> keys;
      case 2 -> given;
      case 3 -> child();
      case 4 -> stateInfo();
      case 5 -> outputMode();
      default -> throw new IndexOutOfBoundsException(index);
    };
  }

  @Override
  public AttributeSet producedAttributes() {
    return outputSet();
  }

  @Override
  public Seq<Attribute> output() {
    return given;
  }

  /** As the rows come, where the columns that they are spread by go on. */
  @Override
  public Partitioning outputPartitioning() {
    Partitioning below = child().outputPartitioning();
    if (below instanceof Expression spread && !spread.references().subsetOf(outputSet())) {
      return new UnknownPartitioning(below.numPartitions());
    }
    return below;
  }

  @Override
  public Seq<SortOrder> outputOrdering() {
    return Scala.seq(List.of());
  }

  @Override
  public Seq<Distribution> requiredChildDistribution() {
    return Scala.seq(
        List.of(StatefulOperatorPartitioning$.MODULE$.getCompatibleDistribution(keys, getStateInfo(), conf())));
  }

  @Override
  public String shortName() {
    return "ksqlpyStep";
  }

  @Override
  public String nodeName() {
    return "Step " + step.getClass().getSimpleName();
  }

  @Override
  public RDD<InternalRow> doExecute() {
    metrics(); // made in the driver
    SessionState state = session().sessionState();
    StructType key = StepState.KEY;
    ClassTag<InternalRow> rows = ClassTag$.MODULE$.apply(InternalRow.class);
    RDD<InternalRow> input = child().execute();
    return package$.MODULE$
        .StateStoreOps(input, rows)
        .mapPartitionsWithStateStore(
            getStateInfo(),
            key,
            StepState.VALUE,
            new NoPrefixKeyStateEncoderSpec(key),
            state,
            Option.apply(session().streams().stateStoreCoordinator()),
            true,
            Scala.map(),
            false,
            new Work(this, child().schema(), schema()),
            rows);
  }

  private static final class Work
      extends AbstractFunction2<StateStore, Iterator<InternalRow>, Iterator<InternalRow>>
      implements java.io.Serializable {
    private static final long serialVersionUID = 1L;

    private final StepExec operator;
    private final StructType input;
    private final StructType output;

    Work(StepExec operator, StructType input, StructType output) {
      this.operator = operator;
      this.input = input;
      this.output = output;
    }

    @Override
    public Iterator<InternalRow> apply(StateStore store, Iterator<InternalRow> rows) {
      StepState state = new StepState(store);
      TaskContext.get().addTaskCompletionListener((TaskCompletionListener) context -> state.close());
      return new StepRows(operator.step, input, output, state, rows) {
        @Override
        void done() {
          store.commit();
          operator.setStoreMetrics(store, true);
          operator.setOperatorMetrics(1);
        }
      };
    }
  }
}
