package ksqlpy.internals;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.JoinedRow;
import org.apache.spark.sql.catalyst.expressions.MutableProjection;
import org.apache.spark.sql.catalyst.expressions.RuntimeReplaceable;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.DeclarativeAggregate;
import org.apache.spark.sql.catalyst.expressions.aggregate.ImperativeAggregate;
import org.apache.spark.sql.catalyst.expressions.aggregate.NoOp$;
import org.apache.spark.sql.catalyst.expressions.aggregate.TypedImperativeAggregate;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.runtime.AbstractPartialFunction;

/**
 * Spark's aggregates outside of its own operators: buffers that are begun, changed by rows, merged, stored and read. It
 * works as Spark's AggregationIterator does.
 */
public final class Aggregation implements Serializable {
  private static final long serialVersionUID = 1L;

  private final List<Expression> results;
  private final List<String> names;
  private final List<Attribute> input;

  /** {@code results}: expressions over aggregates of the columns {@code input}; {@code names}: theirs. */
  Aggregation(List<String> names, List<Expression> results, List<Attribute> input) {
    this.names = names;
    this.input = input;
    this.results = new ArrayList<>();
    for (Expression result : results) {
      this.results.add(result.transformUp(new Replaced()));
    }
  }

  /** What Spark's optimizer would replace. */
  private static final class Replaced extends AbstractPartialFunction<Expression, Expression> {
    @Override
    public boolean isDefinedAt(Expression of) {
      return of instanceof RuntimeReplaceable;
    }

    @Override
    public Expression apply(Expression of) {
      return of instanceof RuntimeReplaceable replaced ? replaced.replacement().transformUp(this) : of;
    }
  }

  /** The columns of {@link Working#result}. */
  public StructType schema() {
    List<StructField> fields = new ArrayList<>();
    for (int i = 0; i < names.size(); i++) {
      fields.add(DataTypes.createStructField(names.get(i), results.get(i).dataType(), true));
    }
    return new StructType(fields.toArray(new StructField[0]));
  }

  /** What works on buffers in one task. {@code extra}: LONG fields ahead of the buffer in stored rows. */
  public Working start(int extra) {
    return new Working(extra);
  }

  /** Buffers of one task; one at a time. */
  public final class Working {
    private final int extra;
    private final List<ImperativeAggregate> imperative = new ArrayList<>();
    private final List<Integer> places = new ArrayList<>();
    private final MutableProjection initial;
    private final MutableProjection update;
    private final MutableProjection merge;
    private final MutableProjection evaluate;
    private final InternalRow evaluated;
    private final UnsafeProjection stored;
    private final UnsafeProjection result;
    private final JoinedRow joined = new JoinedRow();
    private final GenericInternalRow ahead;
    private final GenericInternalRow buffer;

    private Working(int extra) {
      this.extra = extra;
      Map<Expression, Integer> known = new HashMap<>();
      List<AggregateExpression> aggregates = new ArrayList<>();
      for (Expression each : results) {
        collect(each, known, aggregates);
      }
      List<Attribute> cells = new ArrayList<>();
      List<Attribute> others = new ArrayList<>();
      List<DataType> storedTypes = new ArrayList<>();
      for (int i = 0; i < extra; i++) {
        others.add(Attributes.of(DataTypes.createStructField("extra" + i, DataTypes.LongType, true)));
        storedTypes.add(DataTypes.LongType);
      }
      List<Expression> initials = new ArrayList<>();
      List<Expression> updates = new ArrayList<>();
      List<Expression> merges = new ArrayList<>();
      List<Expression> evaluations = new ArrayList<>();
      for (AggregateExpression aggregate : aggregates) {
        if (aggregate.isDistinct() || aggregate.filter().isDefined()) {
          throw new IllegalArgumentException("an aggregate with DISTINCT or FILTER");
        }
        int place = cells.size();
        if (aggregate.aggregateFunction() instanceof DeclarativeAggregate function) {
          cells.addAll(Scala.list(function.aggBufferAttributes()));
          others.addAll(Scala.list(function.inputAggBufferAttributes()));
          initials.addAll(Scala.list(function.initialValues()));
          updates.addAll(Scala.list(function.updateExpressions()));
          merges.addAll(Scala.list(function.mergeExpressions()));
          evaluations.add(function.evaluateExpression());
        } else {
          ImperativeAggregate function =
              (ImperativeAggregate) bound(aggregate.aggregateFunction());
          function = function.withNewMutableAggBufferOffset(place).withNewInputAggBufferOffset(extra + place);
          imperative.add(function);
          places.add(evaluations.size());
          int width = Scala.list(function.aggBufferAttributes()).size();
          cells.addAll(Scala.list(function.aggBufferAttributes()));
          others.addAll(Scala.list(function.inputAggBufferAttributes()));
          for (int i = 0; i < width; i++) {
            initials.add(NoOp$.MODULE$);
            updates.add(NoOp$.MODULE$);
            merges.add(NoOp$.MODULE$);
          }
          evaluations.add(NoOp$.MODULE$);
        }
      }
      for (Attribute cell : cells) {
        storedTypes.add(cell.dataType());
      }
      buffer = new GenericInternalRow(cells.size());
      ahead = new GenericInternalRow(extra);
      initial = projection(initials, List.of()).target(buffer);
      update = projection(updates, both(cells, input)).target(buffer);
      merge = projection(merges, both(cells, others)).target(buffer);
      evaluated = new GenericInternalRow(aggregates.size());
      evaluate = projection(evaluations, cells).target(evaluated);
      stored = UnsafeProjection.create(storedTypes.toArray(new DataType[0]));
      List<Expression> bound = new ArrayList<>();
      for (Expression each : results) {
        bound.add(each.transformUp(new Evaluated(known)));
      }
      result = UnsafeProjection.create(Scala.seq(bound));
    }

    /** How many fields stored rows have. */
    public int width() {
      return extra + buffer.numFields();
    }

    /** Begins a buffer. */
    public void begin() {
      initial.apply(InternalRow.empty());
      for (ImperativeAggregate function : imperative) {
        function.initialize(buffer);
      }
    }

    /** Changes the buffer by a row. */
    public void update(InternalRow row) {
      update.apply(joined.apply(buffer, row));
      for (ImperativeAggregate function : imperative) {
        function.update(buffer, row);
      }
    }

    /** Merges a stored buffer, which comes after what is in this one. */
    public void merge(UnsafeRow other) {
      merge.apply(joined.apply(buffer, other));
      for (ImperativeAggregate function : imperative) {
        function.merge(buffer, other);
      }
    }

    /** The results, valid until the next call. */
    public UnsafeRow result() {
      evaluate.apply(buffer);
      for (int i = 0; i < imperative.size(); i++) {
        evaluated.update(places.get(i), imperative.get(i).eval(buffer));
      }
      return result.apply(evaluated);
    }

    /** The buffer as a row to be stored, valid until the next call; after it the buffer can only be begun again. */
    public UnsafeRow store(long... extras) {
      for (ImperativeAggregate function : imperative) {
        if (function instanceof TypedImperativeAggregate<?> typed) {
          typed.serializeAggregateBufferInPlace(buffer);
        }
      }
      for (int i = 0; i < extra; i++) {
        ahead.setLong(i, extras[i]);
      }
      return stored.apply(joined.apply(ahead, buffer));
    }
  }

  /** With its columns by their places. */
  private Expression bound(Expression of) {
    return of.transformUp(new Bound(input));
  }

  private static void collect(Expression in, Map<Expression, Integer> known, List<AggregateExpression> found) {
    if (in instanceof AggregateExpression aggregate) {
      if (known.putIfAbsent(aggregate.canonicalized(), found.size()) == null) {
        found.add(aggregate);
      }
      return;
    }
    for (Expression child : Scala.list(in.children())) {
      collect(child, known, found);
    }
  }

  /** Columns by their places. */
  private static final class Bound extends AbstractPartialFunction<Expression, Expression> {
    private final List<Attribute> input;

    Bound(List<Attribute> input) {
      this.input = input;
    }

    @Override
    public boolean isDefinedAt(Expression of) {
      return of instanceof AttributeReference;
    }

    @Override
    public Expression apply(Expression of) {
      for (int i = 0; i < input.size(); i++) {
        if (of instanceof AttributeReference column && Objects.equals(input.get(i).exprId(), ((Attribute) column).exprId())) {
          return new BoundReference(i, of.dataType(), of.nullable());
        }
      }
      return of;
    }
  }

  /** Aggregates by the places of their values. */
  private static final class Evaluated extends AbstractPartialFunction<Expression, Expression> {
    private final Map<Expression, Integer> places;

    Evaluated(Map<Expression, Integer> places) {
      this.places = places;
    }

    @Override
    public boolean isDefinedAt(Expression of) {
      return of instanceof AggregateExpression;
    }

    @Override
    public Expression apply(Expression of) {
      return of instanceof AggregateExpression
          ? new BoundReference(places.get(of.canonicalized()), of.dataType(), of.nullable())
          : of;
    }
  }

  private static MutableProjection projection(List<Expression> expressions, List<Attribute> over) {
    return MutableProjection.create(Scala.seq(expressions), Scala.seq(over));
  }

  private static List<Attribute> both(List<Attribute> first, List<Attribute> second) {
    List<Attribute> all = new ArrayList<>(first);
    all.addAll(second);
    return all;
  }
}
