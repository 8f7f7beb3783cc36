package ksqlpy.internals;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.UUID;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.expressions.aggregate.CollectList;
import org.apache.spark.sql.catalyst.expressions.aggregate.Count;
import org.apache.spark.sql.catalyst.expressions.aggregate.Max;
import org.apache.spark.sql.execution.streaming.state.NoPrefixKeyStateEncoderSpec;
import org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider;
import org.apache.spark.sql.execution.streaming.state.StateStore;
import org.apache.spark.sql.execution.streaming.state.StateStoreConf;
import org.apache.spark.sql.execution.streaming.state.StateStoreId;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.Option;

/** What steps work with, for their tests: state in Spark's RocksDB store, one version after the other; aggregates. */
public final class States implements AutoCloseable {
  private final RocksDBStateStoreProvider provider = new RocksDBStateStoreProvider();
  private StateStore store;

  /** An empty state. */
  public States(Path folder) {
    StateStoreId id = new StateStoreId(folder.resolve(UUID.randomUUID().toString()).toString(), 0, 0, "default");
    Configuration settings = new Configuration();
    settings.set("sql.streaming.runId", UUID.randomUUID().toString());
    provider.init(
        id,
        StepState.KEY,
        StepState.VALUE,
        new NoPrefixKeyStateEncoderSpec(StepState.KEY),
        true,
        StateStoreConf.empty(),
        settings,
        true,
        Option.empty());
    store = provider.getStore(0, Option.empty(), false, false);
  }

  /** The state as it is. */
  public StepState state() {
    return new StepState(store);
  }

  /** Commits it; what follows belongs to the next batch. */
  public void commit() {
    store = provider.getStore(store.commit(), Option.empty(), false, false);
  }

  @Override
  public void close() {
    store.abort();
    provider.close();
  }

  /** {@code n}, how many rows there were, {@code __ts}, the last of their times, and {@code all}, the values of a column. */
  public static Aggregation aggregation(StructType input, String column) {
    List<Attribute> columns = Stream.of(input.fields()).map(States::attribute).toList();
    List<Expression> results =
        List.of(
            new Count(Scala.seq(List.<Expression>of(Literal.create(1, DataTypes.IntegerType)))).toAggregateExpression(),
            new Max(columns.get(input.fieldIndex("__ts"))).toAggregateExpression(),
            new CollectList(columns.get(input.fieldIndex(column))).toAggregateExpression());
    return new Aggregation(List.of("n", "__ts", "all"), results, columns);
  }

  private static Attribute attribute(StructField field) {
    return new AttributeReference(
        field.name(), field.dataType(), true, field.metadata(), NamedExpression$.MODULE$.newExprId(),
        Scala.seq(List.of()));
  }

  /** A folder for the states of a test. */
  public static Path folder() throws java.io.IOException {
    return Files.createTempDirectory("states");
  }
}
