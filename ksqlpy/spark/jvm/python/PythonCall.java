package ksqlpy.python;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * A call of a function in Python: {@code (STRUCT of the arguments) → its result}. What describes it goes with the task: an
 * executor needs no file of ours. A call that fails has the value that ON_ERROR says.
 */
public final class PythonCall implements ScalarFunction<Object> {
  private static final long serialVersionUID = 1L;

  private final String spec;
  private final StructType arguments;
  private transient volatile Call call; // made again where a task runs

  /** {@code spec}: JSON, as of {@code Definition.to_call}. Throws IllegalArgumentException if the arguments do not fit. */
  public PythonCall(String spec, StructType arguments) {
    this.spec = spec;
    this.arguments = arguments;
    this.call = Call.of(spec);
    StructField[] given = arguments.fields();
    PythonType[] takes = call.takes;
    for (int i = 0; i < takes.length; i++) {
      String wanted = takes[i].spark.catalogString();
      if (i >= given.length || !given[i].dataType().catalogString().equals(wanted)) {
        throw new IllegalArgumentException(
            call.name + " takes " + wanted + " as argument " + (i + 1) + ", not " + arguments.catalogString());
      }
    }
  }

  private Call call() {
    Call known = call;
    if (known == null) {
      known = Call.of(spec);
      call = known;
    }
    return known;
  }

  public Object invoke(InternalRow row) {
    return call().askOr(null, row);
  }

  public DataType[] inputTypes() {
    return new DataType[] {arguments};
  }

  public DataType resultType() {
    return call().gives.spark;
  }

  public boolean isDeterministic() {
    return call().deterministic;
  }

  public String name() {
    return "python_" + call().name;
  }

  public String canonicalName() {
    return "ksqlpy.python." + spec + arguments.catalogString();
  }

  public boolean equals(Object other) {
    return other instanceof PythonCall && ((PythonCall) other).canonicalName().equals(canonicalName());
  }

  public int hashCode() {
    return spec.hashCode();
  }
}
