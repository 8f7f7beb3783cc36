package interoperability;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.protobuf.DescriptorProtos.FileDescriptorProto;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.FileDescriptor;
import com.google.protobuf.DynamicMessage;
import com.google.protobuf.Message;
import com.google.protobuf.util.JsonFormat;
import io.apicurio.registry.serde.Default4ByteIdHandler;
import io.apicurio.registry.serde.avro.AvroKafkaDeserializer;
import io.apicurio.registry.serde.avro.AvroKafkaSerializer;
import io.apicurio.registry.serde.jsonschema.JsonSchemaKafkaDeserializer;
import io.apicurio.registry.serde.jsonschema.JsonSchemaKafkaSerializer;
import io.apicurio.registry.serde.protobuf.ProtobufKafkaDeserializer;
import io.apicurio.registry.serde.protobuf.ProtobufKafkaSerializer;
import java.io.IOException;
import java.io.InputStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericRecord;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.Deserializer;
import org.apache.kafka.common.serialization.Serializer;

/**
 * Apicurio's serializers, in the form that Confluent's have: an id of four bytes, and of Protobuf the places of
 * messages.
 *
 * <p>Standard input is a JSON object: {@code direction} (write, read), {@code format}, {@code bootstrap}, {@code registry}
 * (its own API), {@code topic}; to write {@code values}, to read {@code count}; {@code schema}, of Protobuf a
 * file's descriptor, and to write its {@code message}. What is read is
 * printed, a line of JSON each.
 */
final class Serializers {
  private static final ObjectMapper MAPPER = new ObjectMapper();

  private Serializers() {}

  public static void main(String[] arguments) throws Exception {
    for (JsonNode task : MAPPER.readTree(System.in)) {
      if (task.get("direction").asText().equals("write")) {
        write(task);
      } else {
        read(task);
      }
    }
    System.exit(0); // the registry's client keeps threads
  }

  private static Map<String, Object> settings(JsonNode task) {
    Map<String, Object> found = new HashMap<>();
    found.put("bootstrap.servers", task.get("bootstrap").asText());
    found.put("apicurio.registry.url", task.get("registry").asText());
    found.put("apicurio.registry.id-handler", Default4ByteIdHandler.class.getName());
    found.put("apicurio.registry.use-id", "contentId");
    found.put("apicurio.registry.headers.enabled", Boolean.FALSE);
    return found;
  }

  // ---------------------------------------------------------------- writing

  private static void write(JsonNode task) throws Exception {
    Map<String, Object> settings = settings(task);
    List<Object> values = new ArrayList<>();
    Serializer<?> serializer;
    String schema = task.get("schema").asText();
    switch (task.get("format").asText()) {
      case "AVRO":
        settings.put("apicurio.registry.auto-register", Boolean.TRUE);
        serializer = new AvroKafkaSerializer<GenericRecord>();
        Schema parsed = new Schema.Parser().parse(schema);
        task.get("values").forEach(each -> values.add(record(parsed, each)));
        break;
      case "PROTOBUF":
        settings.put("apicurio.registry.auto-register", Boolean.TRUE);
        settings.put("apicurio.registry.serde.send-type-ref", Boolean.FALSE);
        settings.put("apicurio.registry.serde.send-indexes", Boolean.TRUE);
        serializer = new ProtobufKafkaSerializer<DynamicMessage>();
        Descriptor type = file(schema).findMessageTypeByName(task.get("message").asText());
        for (JsonNode each : task.get("values")) {
          DynamicMessage.Builder builder = DynamicMessage.newBuilder(type);
          JsonFormat.parser().merge(each.toString(), builder);
          values.add(builder.build());
        }
        break;
      default:
        settings.put("apicurio.registry.find-latest", Boolean.TRUE); // the schema is there
        serializer = new JsonSchemaKafkaSerializer<JsonNode>();
        task.get("values").forEach(values::add);
    }
    send(settings, serializer, task.get("topic").asText(), values);
  }

  @SuppressWarnings("unchecked")
  private static void send(Map<String, Object> settings, Serializer<?> serializer, String topic, List<Object> values)
      throws Exception {
    serializer.configure(settings, false);
    settings.keySet().removeIf(name -> name.startsWith("apicurio."));
    try (KafkaProducer<byte[], Object> producer =
        new KafkaProducer<>(settings, new ByteArraySerializer(), (Serializer<Object>) serializer)) {
      for (Object value : values) {
        producer.send(new ProducerRecord<>(topic, value)).get();
      }
    }
  }

  private static GenericRecord record(Schema schema, JsonNode given) {
    GenericRecord record = new GenericData.Record(schema);
    record.put("id", Long.valueOf(given.get("id").asLong()));
    record.put("note", given.get("note").asText());
    List<String> items = new ArrayList<>();
    given.get("items").forEach(item -> items.add(item.asText()));
    record.put("items", items);
    return record;
  }

  private static FileDescriptor file(String base64) throws Exception {
    FileDescriptorProto described = FileDescriptorProto.parseFrom(Base64.getDecoder().decode(base64));
    return FileDescriptor.buildFrom(described, new FileDescriptor[0]);
  }

  // ---------------------------------------------------------------- reading

  private static void read(JsonNode task) throws Exception {
    Map<String, Object> settings = settings(task);
    Deserializer<?> deserializer;
    switch (task.get("format").asText()) {
      case "AVRO":
        deserializer = new AvroKafkaDeserializer<GenericRecord>();
        break;
      case "PROTOBUF":
        settings.put("apicurio.registry.serde.read-type-ref", Boolean.FALSE);
        settings.put("apicurio.registry.serde.read-indexes", Boolean.TRUE);
        // Without a class it wants the message's name in the record, in Apicurio's own form.
        settings.put("apicurio.registry.deserializer.value.return-class", Generated.class.getName());
        Generated.type = file(task.get("schema").asText()).getMessageTypes().get(0);
        deserializer = new ProtobufKafkaDeserializer<Message>();
        break;
      default:
        settings.put("apicurio.registry.deserializer.value.return-class", ObjectNode.class.getName());
        deserializer = new JsonSchemaKafkaDeserializer<JsonNode>();
    }
    deserializer.configure(settings, false);
    settings.keySet().removeIf(name -> name.startsWith("apicurio."));
    settings.put("enable.auto.commit", "false");
    try (KafkaConsumer<byte[], ?> consumer = new KafkaConsumer<>(settings, new ByteArrayDeserializer(), deserializer)) {
      List<TopicPartition> all = List.of(new TopicPartition(task.get("topic").asText(), 0));
      consumer.assign(all);
      consumer.seekToBeginning(all);
      int count = task.get("count").asInt();
      for (int empty = 0; count > 0 && empty < 30; empty++) {
        for (ConsumerRecord<byte[], ?> each : consumer.poll(Duration.ofSeconds(1))) {
          System.out.println(shown(each.value()));
          count--;
        }
      }
    }
  }

  /** In the place of a class that protoc makes of a schema: the deserializer calls this one method of it. */
  public static final class Generated {
    private static Descriptor type;

    private Generated() {}

    public static Message parseFrom(InputStream in) throws IOException {
      return DynamicMessage.parseFrom(type, in);
    }
  }

  private static String shown(Object value) throws Exception {
    if (value instanceof Message message) {
      return JsonFormat.printer()
          .omittingInsignificantWhitespace()
          .alwaysPrintFieldsWithNoPresence()
          .preservingProtoFieldNames()
          .print(message);
    }
    return value.toString(); // of Avro and Jackson it is JSON
  }
}
