package ksqlpy.functions;

import java.time.DateTimeException;
import java.time.Instant;
import java.time.ZoneId;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Moves a TIMESTAMP by the difference that two zones have at it: {@code (TIMESTAMP, STRUCT<STRING from, STRING to>)
 * → TIMESTAMP}. An unknown zone is an error.
 */
public final class ConvertZone implements ScalarFunction<Long> {
  private static final long serialVersionUID = 1L;

  private final StructType zones;

  ConvertZone(StructType zones) {
    this.zones = zones;
  }

  public Long invoke(long micros, InternalRow zones) {
    UTF8String from = Exact.text(zones, 0);
    UTF8String to = Exact.text(zones, 1);
    if (from == null || to == null) {
      return null;
    }
    try {
      Instant at = Instant.ofEpochMilli(Math.floorDiv(micros, 1000L));
      int seconds = offset(to, at) - offset(from, at);
      return Long.valueOf(Math.addExact(micros, seconds * 1000000L));
    } catch (DateTimeException e) {
      return null;
    } catch (ArithmeticException e) {
      return null;
    }
  }

  private static int offset(UTF8String zone, Instant at) {
    return ZoneId.of(zone.toString()).getRules().getOffset(at).getTotalSeconds();
  }

  public DataType[] inputTypes() {
    return new DataType[] {DataTypes.TimestampType, zones};
  }

  public DataType resultType() {
    return DataTypes.TimestampType;
  }

  public String name() {
    return "convert_tz";
  }

  public String canonicalName() {
    return "ksqlpy.exact.convert_tz";
  }
}
