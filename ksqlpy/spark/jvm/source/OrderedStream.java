package ksqlpy.source;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import ksqlpy.internals.EventTimes;
import ksqlpy.internals.KafkaParts;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.PartitionOffset;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.connector.read.streaming.SupportsRealTimeMode;
import org.apache.spark.sql.connector.read.streaming.SupportsTriggerAvailableNow;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * Which offsets a batch reads: as Spark's own stream of Kafka says, in one task instead of one a partition if they are
 * read by time, and not beyond {@link OrderedKafka#END}.
 */
final class OrderedStream
    implements MicroBatchStream, SupportsTriggerAvailableNow, SupportsRealTimeMode, PlanHolder {
  private static final ObjectMapper MAPPER = new ObjectMapper();

  private final MicroBatchStream kafka;
  private final CaseInsensitiveStringMap options;
  private final EventTimes times;
  private volatile Object plan;

  OrderedStream(MicroBatchStream kafka, CaseInsensitiveStringMap options) {
    this.kafka = kafka;
    this.options = options;
    String named = options.get(OrderedKafka.TIMES);
    this.times = named == null ? null : EventTimes.of(named);
  }

  @Override
  public InputPartition[] planInputPartitions(Offset start, Offset end) {
    return Planned.of(kafka.planInputPartitions(start, end), true, true, options, times);
  }

  @Override
  public InputPartition[] planInputPartitions(Offset start) {
    return Planned.of(((SupportsRealTimeMode) kafka).planInputPartitions(start), false, true, options, times);
  }

  @Override
  public PartitionReaderFactory createReaderFactory() {
    return new Planned.Readers();
  }

  @Override
  public Offset mergeOffsets(PartitionOffset[] offsets) {
    List<PartitionOffset> all = new ArrayList<>();
    for (PartitionOffset offset : offsets) {
      ((OrderedReader.Reached) offset).offsets().forEach((place, at) -> all.add(KafkaParts.reached(place, at)));
    }
    return ((SupportsRealTimeMode) kafka).mergeOffsets(all.toArray(new PartitionOffset[0]));
  }

  @Override
  public void prepareForRealTimeMode() {
    ((SupportsRealTimeMode) kafka).prepareForRealTimeMode();
  }

  @Override
  public void prepareForTriggerAvailableNow() {
    ((SupportsTriggerAvailableNow) kafka).prepareForTriggerAvailableNow();
  }

  @Override
  public Offset latestOffset(Offset start, ReadLimit limit) {
    return notBeyondEnd(((SupportsTriggerAvailableNow) kafka).latestOffset(start, limit));
  }

  private Offset notBeyondEnd(Offset found) {
    String end = options.get(OrderedKafka.END);
    if (end == null || found == null) {
      return found;
    }
    try {
      @SuppressWarnings("unchecked")
      Map<String, Map<String, Number>> ends = MAPPER.readValue(end, Map.class);
      @SuppressWarnings("unchecked")
      Map<String, Map<String, Number>> offsets = MAPPER.readValue(found.json(), Map.class);
      Map<String, Map<String, Long>> cut = new TreeMap<>();
      offsets.forEach(
          (topic, places) -> {
            Map<String, Long> of = cut.computeIfAbsent(topic, name -> new TreeMap<>());
            places.forEach(
                (place, offset) -> {
                  Number last = ends.getOrDefault(topic, Map.of()).get(place);
                  long most = last == null ? Long.MAX_VALUE : last.longValue();
                  of.put(place, Long.valueOf(Math.min(offset.longValue(), most)));
                });
          });
      return kafka.deserializeOffset(MAPPER.writeValueAsString(cut));
    } catch (JsonProcessingException e) {
      throw new IllegalArgumentException("no offsets: " + end, e);
    }
  }

  @Override
  public ReadLimit getDefaultReadLimit() {
    return ((SupportsTriggerAvailableNow) kafka).getDefaultReadLimit();
  }

  @Override
  public Offset reportLatestOffset() {
    return ((SupportsTriggerAvailableNow) kafka).reportLatestOffset();
  }

  @Override
  public Offset latestOffset() {
    return notBeyondEnd(kafka.latestOffset());
  }

  @Override
  public Offset initialOffset() {
    return kafka.initialOffset();
  }

  @Override
  public Offset deserializeOffset(String json) {
    return kafka.deserializeOffset(json);
  }

  @Override
  public void commit(Offset end) {
    kafka.commit(end);
  }

  @Override
  public void stop() {
    if (times != null) {
      EventTimes.forget(options.get(OrderedKafka.TIMES));
    }
    kafka.stop();
  }

  @Override
  public Object plan() {
    return plan;
  }

  @Override
  public void plan(Object known) {
    plan = known;
  }

  @Override
  public String toString() {
    return "ordered " + kafka;
  }
}
