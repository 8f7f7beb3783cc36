package ksqlpy.once;

import java.io.IOException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** Asks a {@link Tail}, see its isAhead: {@code (place INT, offset BIGINT, STRUCT<key BINARY>) → BOOLEAN}, not null. */
public final class TailAhead implements ScalarFunction<Boolean> {
  private static final long serialVersionUID = 1L;

  private final String tail;
  private transient volatile Tail read;

  public TailAhead(String tail) {
    this.tail = tail;
  }

  public boolean invoke(int place, long offset, InternalRow given) throws IOException {
    Tail known = read;
    if (known == null) {
      known = Tail.of(tail);
      read = known;
    }
    return known.isAhead(place, offset, given.isNullAt(0) ? null : given.getBinary(0));
  }

  public DataType[] inputTypes() {
    return new DataType[] {DataTypes.IntegerType, DataTypes.LongType, new StructType().add("key", DataTypes.BinaryType)};
  }

  public DataType resultType() {
    return DataTypes.BooleanType;
  }

  public boolean isResultNullable() {
    return false;
  }

  public String name() {
    return "tail_ahead";
  }

  public String canonicalName() {
    return "ksqlpy.ahead." + tail;
  }
}
