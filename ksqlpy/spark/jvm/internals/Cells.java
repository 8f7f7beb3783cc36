package ksqlpy.internals;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.Decimal;

/** The values of a row or of an array, each by its type: what writers of records take apart. */
public final class Cells {
  private final SpecializedGetters from;
  private final int size;

  private Cells(SpecializedGetters from, int size) {
    this.from = from;
    this.size = size;
  }

  public static Cells of(InternalRow row) {
    return new Cells(row, row.numFields());
  }

  private static Cells of(ArrayData items) {
    return new Cells(items, items.numElements());
  }

  public int size() {
    return size;
  }

  public boolean isNull(int at) {
    return from.isNullAt(at);
  }

  public boolean bool(int at) {
    return from.getBoolean(at);
  }

  /** Of an INT, or the days of a DATE. */
  public int whole(int at) {
    return from.getInt(at);
  }

  /** Of a BIGINT, or the microseconds of a TIMESTAMP. */
  public long large(int at) {
    return from.getLong(at);
  }

  public double real(int at) {
    return from.getDouble(at);
  }

  /** Text in UTF-8. */
  public byte[] text(int at) {
    return from.getUTF8String(at).getBytes();
  }

  public byte[] binary(int at) {
    return from.getBinary(at);
  }

  public Decimal decimal(int at, int precision, int scale) {
    return from.getDecimal(at, precision, scale);
  }

  /** Of a STRUCT of so many fields. */
  public Cells fields(int at, int count) {
    return of(from.getStruct(at, count));
  }

  /** Of an ARRAY. */
  public Cells items(int at) {
    return of(from.getArray(at));
  }

  /** The keys of a MAP. */
  public Cells keys(int at) {
    MapData entries = from.getMap(at);
    return of(entries.keyArray());
  }

  /** The values of a MAP, in the order of its keys. */
  public Cells values(int at) {
    MapData entries = from.getMap(at);
    return of(entries.valueArray());
  }
}
