package ksqlpy.source;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import ksqlpy.internals.EventTimes;
import ksqlpy.internals.KafkaParts;
import org.apache.kafka.common.TopicPartition;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** What the tasks of a batch read: the offsets that Spark's own source says, as {@link OrderedKafka}'s options say. */
final class Planned {
  private static final ObjectMapper MAPPER = new ObjectMapper();

  private Planned() {}

  /** {@code parts}: of Spark's own source; {@code ends}: whether they end at an offset; {@code goesOn}: with a next batch. */
  static InputPartition[] of(
      InputPartition[] parts, boolean ends, boolean goesOn, CaseInsensitiveStringMap options, EventTimes times) {
    if (parts.length == 0) {
      return parts;
    }
    List<OrderedPartition.Range> ranges = new ArrayList<>();
    for (InputPartition part : parts) {
      ranges.add(
          new OrderedPartition.Range(
              KafkaParts.place(part), KafkaParts.from(part), ends ? KafkaParts.until(part) : Long.MAX_VALUE));
    }
    OrderedPartition.Options all =
        new OrderedPartition.Options(
            List.of(options.getOrDefault(OrderedKafka.TABLES, "").split("\n")),
            options.getLong(OrderedKafka.IDLE, 0),
            options.getBoolean("failOnDataLoss", true), // of Spark's source
            times,
            options.getBoolean(OrderedKafka.TIMED, true),
            options.getLong(OrderedKafka.LARGEST, Long.MAX_VALUE),
            skipped(options.getOrDefault(OrderedKafka.SKIPPED, "{}")),
            goesOn);
    Map<String, Object> settings = KafkaParts.settings(parts[0]);
    if (!options.getBoolean(OrderedKafka.APART, false)) {
      return new InputPartition[] {new OrderedPartition(ranges, settings, all, 1, parts[0].preferredLocations())};
    }
    InputPartition[] made = new InputPartition[parts.length];
    for (int i = 0; i < parts.length; i++) {
      List<OrderedPartition.Range> range = List.of(ranges.get(i));
      made[i] = new OrderedPartition(range, settings, all, parts.length, parts[i].preferredLocations());
    }
    return made;
  }

  private static Map<TopicPartition, Set<Long>> skipped(String given) {
    Map<TopicPartition, Set<Long>> found = new HashMap<>();
    try {
      for (Map.Entry<String, JsonNode> topic : MAPPER.readTree(given).properties()) {
        for (Map.Entry<String, JsonNode> partition : topic.getValue().properties()) {
          Set<Long> offsets = new HashSet<>();
          partition.getValue().forEach(offset -> offsets.add(Long.valueOf(offset.asLong())));
          found.put(new TopicPartition(topic.getKey(), Integer.parseInt(partition.getKey())), offsets);
        }
      }
    } catch (JsonProcessingException e) {
      throw new IllegalArgumentException("no offsets: " + given, e);
    }
    return found;
  }

  /** Of a query that is no stream. */
  record Once(Batch kafka, CaseInsensitiveStringMap options) implements Batch {
    @Override
    public InputPartition[] planInputPartitions() {
      return of(kafka.planInputPartitions(), true, false, options, null);
    }

    @Override
    public PartitionReaderFactory createReaderFactory() {
      return new Readers();
    }
  }

  /** Makes the readers of tasks. */
  static final class Readers implements PartitionReaderFactory {
    private static final long serialVersionUID = 1L;

    @Override
    public PartitionReader<InternalRow> createReader(InputPartition partition) {
      return new OrderedReader((OrderedPartition) partition);
    }
  }
}
