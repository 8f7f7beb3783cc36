package ksqlpy.internals;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import ksqlpy.steps.ForeignKey;
import ksqlpy.steps.Join;
import ksqlpy.steps.Neighbours;
import ksqlpy.steps.Ranking;
import ksqlpy.steps.Session;
import ksqlpy.steps.Step;
import ksqlpy.steps.Suppress;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.types.StructField;

/** Puts steps into plans, for Python. */
public final class Steps {
  private static final ObjectMapper MAPPER = new ObjectMapper();

  private Steps() {}

  /**
   * The rows that a step gives for those of a DataFrame. {@code spec}, JSON: {@code {"step": name, "number": of the step
   * in its plan, "lanes": [of each topic, how many of its partitions are watched], …}}, and what the step takes. {@code
   * keys}: the columns whose values rows of one task share.
   */
  public static Dataset<Row> add(Dataset<Row> rows, String spec, List<String> keys) throws IOException {
    JsonNode described = MAPPER.readTree(spec);
    LogicalPlan plan = analyzed(rows);
    int number = described.get("number").asInt();
    int[] lanes = lanes(described);
    Step step =
        switch (described.get("step").asText()) {
          case "join" ->
              new Join(
                  number,
                  lanes,
                  described.get("before").asLong(),
                  described.get("after").asLong(),
                  described.get("grace").asLong(),
                  described.get("left").asBoolean(),
                  described.get("right").asBoolean());
          case "suppress" ->
              new Suppress(
                  number,
                  lanes,
                  described.get("advance").asLong(),
                  described.get("grace").asLong(),
                  described.get("idle").asLong(),
                  described.get("kept").asLong(),
                  described.get("segment").asLong(),
                  described.get("query").asText());
          case "foreign-key changes" -> new ForeignKey.Changes(number, lanes, described.get("left").asBoolean());
          case "foreign-key matches" -> new ForeignKey.Matches(
              number, lanes, described.get("left").asBoolean(), described.get("mixed").asBoolean());
          case "foreign-key latest" -> new ForeignKey.Latest(number, lanes);
          case "neighbours" ->
              new Neighbours(number, lanes, numbers(described.get("offsets")), texts(described.get("carried")));
          case "ranking" ->
              new Ranking(
                  number,
                  lanes,
                  described.get("limit").asInt(),
                  flags(described.get("descending")),
                  flags(described.get("nullsFirst")),
                  texts(described.get("carried")));
          default -> throw new IllegalArgumentException(spec);
        };
    return with(rows, plan, step, keys);
  }

  /**
   * Rows grouped in sessions. {@code grouped}: the same in groups without a window, {@code groupBy(…).agg(…)}, of which
   * the aggregates are taken.
   */
  public static Dataset<Row> session(Dataset<Row> grouped, String spec, List<String> keys) throws IOException {
    JsonNode described = MAPPER.readTree(spec);
    Aggregate aggregate = (Aggregate) analyzed(grouped);
    LogicalPlan plan = aggregate.child();
    List<String> names = new ArrayList<>();
    List<Expression> results = new ArrayList<>();
    for (NamedExpression each : Scala.list(aggregate.aggregateExpressions())) {
      if (each instanceof Alias alias) {
        names.add(alias.name());
        results.add(alias.child());
      }
    }
    Step step =
        new Session(
            described.get("number").asInt(),
            lanes(described),
            described.get("gap").asLong(),
            described.get("grace").asLong(),
            described.get("query").asText(),
            new Aggregation(names, results, new ArrayList<>(Scala.list(plan.output()))),
            texts(described.get("names")),
            texts(described.get("carried")));
    return with(grouped, plan, step, keys);
  }

  private static LogicalPlan analyzed(Dataset<Row> rows) {
    return ((org.apache.spark.sql.classic.Dataset<Row>) rows).queryExecution().analyzed();
  }

  private static String[] texts(JsonNode list) {
    String[] texts = new String[list.size()];
    for (int i = 0; i < texts.length; i++) {
      texts[i] = list.get(i).asText();
    }
    return texts;
  }

  private static int[] numbers(JsonNode list) {
    int[] numbers = new int[list.size()];
    for (int i = 0; i < numbers.length; i++) {
      numbers[i] = list.get(i).asInt();
    }
    return numbers;
  }

  private static boolean[] flags(JsonNode list) {
    boolean[] flags = new boolean[list.size()];
    for (int i = 0; i < flags.length; i++) {
      flags[i] = list.get(i).asBoolean();
    }
    return flags;
  }

  private static int[] lanes(JsonNode described) {
    return numbers(described.get("lanes"));
  }

  private static Dataset<Row> with(Dataset<Row> rows, LogicalPlan plan, Step step, List<String> keys) {
    SparkSession session = (SparkSession) rows.sparkSession();
    StepStrategy.add(session);
    List<Expression> by = new ArrayList<>();
    for (String key : keys) {
      by.add(own(plan, key));
    }
    List<Attribute> given = new ArrayList<>();
    for (StructField field : step.output(plan.schema()).fields()) {
      // What spreads the rows stays the same column, so that the next step need not spread them again.
      given.add(keys.contains(field.name()) ? own(plan, field.name()) : Attributes.of(field));
    }
    return org.apache.spark.sql.classic.Dataset.ofRows(session, new StepNode(step, Scala.seq(by), Scala.seq(given), plan));
  }

  private static Attribute own(LogicalPlan plan, String name) {
    for (Attribute attribute : Scala.list(plan.output())) {
      if (attribute.name().equals(name)) {
        return attribute;
      }
    }
    throw new IllegalArgumentException(name);
  }
}
