package ksqlpy.internals;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import scala.collection.immutable.Seq;

/**
 * The event time of a record out of its columns (WITH TIMESTAMP), by which a source orders records: what a DataFrame
 * over the records computes, evaluated for one record at a time.
 */
public final class EventTimes implements Serializable {
  private static final long serialVersionUID = 1L;

  private static final Map<String, EventTimes> KNOWN = new ConcurrentHashMap<>();
  private static final AtomicLong MADE = new AtomicLong();

  private final List<Stage> stages = new ArrayList<>();

  private transient List<UnsafeProjection> projections;

  /** One projection: its expressions over the columns of the one before. */
  private record Stage(Seq<Expression> given, Seq<Attribute> input) implements Serializable {}

  private EventTimes() {}

  /** Keeps what a DataFrame of one BIGINT column computes of a source's rows, under the name that is returned. */
  public static String keep(Dataset<Row> times) {
    EventTimes made = new EventTimes();
    LogicalPlan plan = ((org.apache.spark.sql.classic.Dataset<Row>) times).queryExecution().optimizedPlan();
    while (plan instanceof Project project) {
      List<Expression> given = new ArrayList<>();
      Scala.list(project.projectList()).forEach(each -> given.add((Expression) each));
      made.stages.add(0, new Stage(Scala.seq(given), project.child().output()));
      plan = project.child();
    }
    if (made.stages.isEmpty() || !Scala.list(plan.children()).isEmpty()) {
      throw new IllegalArgumentException("no projection of a source: " + plan.nodeName());
    }
    String name = "times-" + MADE.incrementAndGet();
    KNOWN.put(name, made);
    return name;
  }

  /** What was kept under this name. */
  public static EventTimes of(String name) {
    EventTimes found = KNOWN.get(name);
    if (found == null) {
      throw new IllegalArgumentException(name);
    }
    return found;
  }

  /** Forgets it. */
  public static void forget(String name) {
    KNOWN.remove(name);
  }

  /** One for a task. */
  public EventTimes open() {
    EventTimes opened = new EventTimes();
    opened.stages.addAll(stages);
    opened.projections = new ArrayList<>();
    for (Stage stage : stages) {
      UnsafeProjection projection = UnsafeProjection.create(stage.given(), stage.input());
      projection.initialize(0);
      opened.projections.add(projection);
    }
    return opened;
  }

  /** The time of a row of the source, in ms; {@code otherwise} where it says none. */
  public long of(InternalRow row, long otherwise) {
    InternalRow found = row;
    for (UnsafeProjection projection : projections) {
      found = projection.apply(found);
    }
    return found.isNullAt(0) ? otherwise : found.getLong(0);
  }
}
