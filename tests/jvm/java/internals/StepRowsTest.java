package ksqlpy.internals;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.util.ArrayList;
import java.util.List;
import ksqlpy.steps.Step;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;
import scala.jdk.javaapi.CollectionConverters;

final class StepRowsTest {
  private static final StructType INPUT =
      StructType.fromDDL(
          "__key STRING, __ts BIGINT, __partition INT, __offset BIGINT, __raw STRING, __number BIGINT, v BIGINT");

  /** Gives each value, and at the end their sum. */
  private static final class Sum extends Step {
    private static final long serialVersionUID = 1L;

    private transient long sum;

    Sum() {
      super(1, new int[0]);
    }

    @Override
    public Step copy() {
      return new Sum();
    }

    @Override
    protected void open(StepState state, StructType input) {}

    @Override
    protected void step(InternalRow row) {
      sum += row.getLong(6);
      give(new Object[] {row.getLong(6), null, null, null, null});
    }

    @Override
    protected void finish() {
      giveIdle(new Object[] {sum, null, null, null, null}, 0);
    }

    @Override
    public StructType output(StructType input) {
      return StructType.fromDDL("v BIGINT, __partition INT, __offset BIGINT, __row BIGINT, __progress BINARY");
    }
  }

  @Test
  void whatComesAtTheEndIsGivenToo() throws Exception {
    Rows row =
        new Rows(
            DataTypes.StringType, DataTypes.LongType, DataTypes.IntegerType, DataTypes.LongType, DataTypes.StringType,
            DataTypes.LongType, DataTypes.LongType);
    List<InternalRow> given = new ArrayList<>();
    for (long n = 1; n <= 3; n++) {
      given.add(row.of(null, n, 0, n, null, 0L, n).copy());
    }
    List<Long> found = new ArrayList<>();
    List<String> ends = new ArrayList<>();
    try (States states = new States(States.folder())) {
      Step step = new Sum();
      StepRows rows =
          new StepRows(
              step, INPUT, step.output(INPUT), states.state(), CollectionConverters.asScala(given.iterator())) {
            @Override
            void done() {
              ends.add("after " + found);
            }
          };
      while (rows.hasNext()) {
        found.add(rows.next().getLong(0));
      }
      assertFalse(rows.hasNext());
    }
    assertEquals(List.of(1L, 2L, 3L, 6L), found);
    assertEquals(List.of("after [1, 2, 3]"), ends);
  }
}
