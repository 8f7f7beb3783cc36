package ksqlpy.aggregates;

import java.nio.ByteBuffer;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.functions.AggregateFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;

/**
 * The sample variance, 0 of fewer than two values: {@code (DOUBLE value [, DOUBLE gone]) → DOUBLE}. NULLs do not count.
 *
 * <p>It carries the sum of the squared distances from the mean along (Welford; merging after Chan, Golub, LeVeque),
 * which keeps its digits where a sum of squares would lose them. The state is plain bytes: number, sum and squared
 * distances of the values that came, and in the state of one input row also of those that are gone.
 */
public final class Variance implements AggregateFunction<byte[], Double> {
  private static final long serialVersionUID = 1L;

  private static final int LENGTH = 3 * 8;

  private final boolean undoes;

  public Variance(boolean undoes) {
    this.undoes = undoes;
  }

  public byte[] newAggregationState() {
    return new byte[0];
  }

  public byte[] update(byte[] state, InternalRow input) {
    double[] known = decode(state);
    if (undoes && !input.isNullAt(1)) {
      add(known, 3, 1, input.getDouble(1), 0);
    }
    if (!input.isNullAt(0)) {
      add(known, 0, 1, input.getDouble(0), 0);
    }
    return encode(known);
  }

  public byte[] merge(byte[] left, byte[] right) {
    if (left.length == 0) {
      return right;
    }
    double[] known = decode(left);
    double[] more = decode(right);
    takeOut(known, more[3], more[4], more[5]);
    add(known, 0, more[0], more[1], more[2]);
    return encode(known);
  }

  /** Adds a set of {@code n} values with this sum and these squared distances to the one that begins at {@code to}. */
  private static void add(double[] known, int to, double n, double sum, double squares) {
    if (n == 0) {
      return;
    }
    if (known[to] > 0) {
      // Of one value, as ksqlDB has it (Youngs and Cramer): the last digits of its results depend on the form.
      double apart =
          n == 1 ? (known[to] + 1) * sum - (known[to + 1] + sum) : known[to] * sum - n * known[to + 1];
      known[to + 2] += apart * apart / (known[to] * n * (known[to] + n));
    }
    known[to] += n;
    known[to + 1] += sum;
    known[to + 2] += squares;
  }

  private static void takeOut(double[] known, double n, double sum, double squares) {
    if (n == 0 || known[0] < n) {
      return;
    }
    known[0] -= n;
    known[1] -= sum;
    if (known[0] == 0) {
      known[1] = 0;
      known[2] = 0;
      return;
    }
    double apart = known[0] * sum - n * known[1];
    known[2] = Math.max(0, known[2] - squares - apart * apart / (known[0] * n * (known[0] + n)));
  }

  public Double produceResult(byte[] state) {
    double[] known = decode(state);
    return Double.valueOf(known[0] < 2 ? 0.0 : known[2] / (known[0] - 1));
  }

  private static double[] decode(byte[] state) {
    double[] known = new double[6];
    ByteBuffer from = ByteBuffer.wrap(state);
    for (int i = 0; from.hasRemaining(); i++) {
      known[i] = from.getDouble();
    }
    return known;
  }

  private static byte[] encode(double[] known) {
    ByteBuffer to = ByteBuffer.allocate(known[3] == 0 ? LENGTH : 2 * LENGTH);
    while (to.hasRemaining()) {
      to.putDouble(known[to.position() / 8]);
    }
    return to.array();
  }

  public DataType[] inputTypes() {
    DataType number = DataTypes.DoubleType;
    return undoes ? new DataType[] {number, number} : new DataType[] {number};
  }

  public DataType resultType() {
    return DataTypes.DoubleType;
  }

  public boolean isResultNullable() {
    return false;
  }

  public String name() {
    return "variance";
  }

  public String canonicalName() {
    return "ksqlpy.variance." + undoes;
  }
}
