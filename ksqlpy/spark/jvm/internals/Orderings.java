package ksqlpy.internals;

import java.util.Comparator;
import org.apache.spark.sql.catalyst.util.TypeUtils;
import org.apache.spark.sql.types.DataType;

/** The order that Spark gives to values of a type, as its rows hold them: each of its types has one, structs included. */
public final class Orderings {
  private Orderings() {}

  /** Compares values of this type that are not null. */
  public static Comparator<Object> of(DataType type) {
    return TypeUtils.getInterpretedOrdering(type);
  }
}
