package ksqlpy.steps;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import ksqlpy.internals.States;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/** Feeds a step with rows, and says what it gives, as text. */
final class Feed implements AutoCloseable {
  private static final String PLACE =
      ", __ts BIGINT, __partition INT, __offset BIGINT, __number BIGINT, __raw STRING, __reason STRING";

  private final StructType input;
  private final UnsafeProjection unsafe;
  private final States states;
  private final Step made;
  private final int[] shown;
  private final List<String> given = new ArrayList<>();
  private Step step;
  private long offset = 0;

  /** {@code columns}: those that come in, besides the system's; {@code shown}: those that come out, for the text. */
  Feed(Step made, String columns, String... shown) throws IOException {
    this.made = made;
    input = input(columns);
    unsafe = UnsafeProjection.create(input);
    states = new States(States.folder());
    this.shown = Arrays.stream(shown).mapToInt(made.output(input)::fieldIndex).toArray();
    begin();
  }

  /** All columns that come in. */
  static StructType input(String columns) {
    return StructType.fromDDL(columns + PLACE);
  }

  States states() {
    return states;
  }

  private void begin() {
    StructType output = made.output(input);
    step = made.copy();
    step.begin(states.state(), input, output, 0, values -> given.add(text(values, output)));
  }

  /** What comes out for a row: its partition, and columns by their names; a struct is an array. */
  List<String> take(int partition, Object... named) {
    Object[] values = new Object[input.length()];
    values[input.fieldIndex("__partition")] = partition;
    values[input.fieldIndex("__offset")] = offset++;
    values[input.fieldIndex("__number")] = 0L;
    for (int i = 0; i < named.length; i += 2) {
      int at = input.fieldIndex((String) named[i]);
      values[at] = value(named[i + 1], input.fields()[at].dataType());
    }
    step.take(unsafe.apply(new GenericInternalRow(values)));
    return given();
  }

  /** Ends the batch and begins the next one; what came out at the end. */
  List<String> nextBatch() {
    step.end();
    states.commit();
    begin();
    return given();
  }

  private List<String> given() {
    List<String> all = List.copyOf(given);
    given.clear();
    return all;
  }

  @Override
  public void close() {
    states.close();
  }

  static UnsafeRow row(StructType type, Object... values) {
    return (UnsafeRow) UnsafeProjection.create(type).apply((InternalRow) value(values, type));
  }

  private static Object value(Object value, DataType type) {
    if (value instanceof Object[] values) {
      Object[] fields = new Object[values.length];
      for (int i = 0; i < fields.length; i++) {
        fields[i] = value(values[i], ((StructType) type).fields()[i].dataType());
      }
      return new GenericInternalRow(fields);
    }
    if (value instanceof Integer number) {
      return type instanceof LongType ? (Object) number.longValue() : type instanceof ByteType ? number.byteValue() : value;
    }
    return value instanceof String text ? UTF8String.fromString(text) : value;
  }

  private String text(Object[] values, StructType output) {
    List<String> parts = new ArrayList<>();
    for (int i : shown) {
      parts.add(text(values[i], output.fields()[i].dataType()));
    }
    return String.join(" ", parts);
  }

  private static String text(Object value, DataType type) {
    if (value instanceof InternalRow row && type instanceof StructType of) {
      List<String> parts = new ArrayList<>();
      for (int i = 0; i < of.length(); i++) {
        parts.add(text(row.get(i, of.fields()[i].dataType()), of.fields()[i].dataType()));
      }
      return String.join(",", parts);
    }
    if (value instanceof ArrayData array) {
      return Arrays.toString(array.toObjectArray(((ArrayType) type).elementType())).replace(" ", "");
    }
    return value == null ? "-" : value.toString();
  }
}
