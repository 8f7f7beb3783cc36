package ksqlpy.catalog;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import ksqlpy.aggregates.Bag;
import ksqlpy.aggregates.Highest;
import ksqlpy.aggregates.Listed;
import ksqlpy.aggregates.Variance;
import ksqlpy.functions.Clock;
import ksqlpy.functions.Counter;
import ksqlpy.functions.Exact;
import ksqlpy.functions.ScalarCall;
import ksqlpy.internals.EncodedLiterals;
import ksqlpy.once.TailAhead;
import ksqlpy.once.TailPlace;
import ksqlpy.once.TailPosition;
import ksqlpy.python.PythonCall;
import ksqlpy.python.Tried;
import ksqlpy.python.Trying;
import ksqlpy.read.Reader;
import ksqlpy.sink.SinkValue;
import ksqlpy.tasks.Attempts;
import ksqlpy.tasks.Sent;
import ksqlpy.write.AvroWriter;
import ksqlpy.write.ProtobufWriter;
import org.apache.spark.sql.connector.catalog.FunctionCatalog;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.functions.BoundFunction;
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * The catalog that Spark asks for our functions, by {@code spark.sql.catalog.ksqlpy=ksqlpy.catalog.Functions}.
 *
 * <p>A function's name is its specification, since Spark gives a function no other place for constants that fix the
 * type of the result: {@code ksqlpy.`{"read":"JSON","bare":false,"type":…}`(value)}. Where something that a user wrote is
 * part of it, it is $ and its bytes in hexadecimal digits.
 * {@code read} names a reader, JSON the class JsonReader; see {@link Reader} for the result and {@link ksqlpy.read.Type} for the type. The other kinds are
 * {@code {"of":"row","tail":…}}, {@code {"of":"group",…}} and {@code {"of":"key",…}}, see {@link ksqlpy.once.Tail}, {@code {"count":name}}, see
 * {@link Counter}, {@code {"attempt":true}}, see {@link Attempts}, {@code {"clock":true}}, see {@link Clock}, {@code {"sent":tasks}}, see {@link Sent}, {@code {"exact":name}}, see {@link Exact}, {@code {"sink":true}}, see {@link SinkValue},
 * {@code {"write":"AVRO",…}}, see {@link AvroWriter} and {@link ProtobufWriter},
 * {@code {"call":function}}, see {@link ksqlpy.functions.Scalar}, {@code {"python":…}}, see {@link PythonCall}, {@code {"trying":true}} and {@code {"tried":true}}, see {@link Tried}, and {@code {"aggregate":kind,…}}: first, last (see {@link Listed}),
 * highest ({@link Highest}), counts, single ({@link Bag}) and variance ({@link Variance}).
 */
public final class Functions implements FunctionCatalog {
  private static final ObjectMapper MAPPER = new ObjectMapper();

  private String name;

  public void initialize(String name, CaseInsensitiveStringMap options) {
    this.name = name;
  }

  public String name() {
    return name;
  }

  public Identifier[] listFunctions(String[] namespace) {
    return new Identifier[0];
  }

  public UnboundFunction loadFunction(Identifier identifier) {
    String name = identifier.name();
    return new Unbound(name.startsWith("$") ? EncodedLiterals.text(name.substring(1)) : name);
  }

  /** A function before Spark knows its arguments. Spark makes an AnalysisException of what bind throws. */
  private static final class Unbound implements UnboundFunction {
    private static final long serialVersionUID = 1L;

    private final String spec;

    Unbound(String spec) {
      this.spec = spec;
    }

    public BoundFunction bind(StructType arguments) {
      try {
        JsonNode described = MAPPER.readTree(spec);
        if (described.has("sink")) {
          return new SinkValue(arguments.length());
        }
        if (described.has("call")) {
          expect(arguments, 1, "it takes one argument, the struct of the function's arguments");
          DataType given = arguments.fields()[0].dataType();
          if (!(given instanceof StructType)) {
            throw new UnsupportedOperationException("it takes a struct of the function's arguments");
          }
          return new ScalarCall(described.get("call").asText(), (StructType) given);
        }
        if (described.has("python")) {
          expect(arguments, 1, "it takes one argument, the struct of the function's arguments");
          return new PythonCall(described.get("python").toString(), (StructType) arguments.fields()[0].dataType());
        }
        if (described.has("trying")) {
          expect(arguments, 0, "it takes no argument");
          return new Trying();
        }
        if (described.has("tried")) {
          expect(arguments, 2, "it takes two arguments: trying, and the struct of the values");
          return new Tried((StructType) arguments.fields()[1].dataType());
        }
        if (described.has("write")) {
          return writer(described, arguments);
        }
        if (described.has("exact")) {
          return Exact.named(described.get("exact").asText(), arguments);
        }
        if (described.has("attempt")) {
          expect(arguments, 1, "it takes one argument");
          return new Attempts();
        }
        if (described.has("sent")) {
          expect(arguments, 2, "it takes two arguments: task and time");
          return new Sent(described.get("sent").asInt(), described.get("stage").asInt());
        }
        if (described.has("clock")) {
          expect(arguments, 2, "it takes two arguments: place and time");
          return new Clock();
        }
        if (described.has("count")) {
          expect(arguments, 1, "it takes one argument, the condition");
          return new Counter(described.get("count").asText());
        }
        if (described.has("aggregate")) {
          return aggregate(described, arguments);
        }
        if (described.has("tail")) {
          String tail = MAPPER.writeValueAsString(described.get("tail"));
          if (described.path("of").asText().equals("key")) {
            expect(arguments, 3, "it takes three arguments: place, offset, key");
            return new TailAhead(tail);
          }
          if (described.path("of").asText().equals("group")) {
            expect(arguments, 3, "it takes three arguments: group, partition, offset");
            return new TailPlace(tail);
          }
          expect(arguments, 3, "it takes three arguments: place, offset, window");
          return new TailPosition(tail);
        }
        expect(arguments, 1, "it takes one argument, the bytes to read");
        return reader(described);
      } catch (JsonProcessingException e) {
        throw new UnsupportedOperationException("its name is not a specification in JSON: " + e.getOriginalMessage());
      } catch (IOException e) {
        throw new UnsupportedOperationException("its name is not a specification: " + e.getMessage());
      } catch (IllegalArgumentException e) {
        throw new UnsupportedOperationException("its specification is wrong: " + e.getMessage());
      }
    }

    private static void expect(StructType arguments, int count, String otherwise) {
      if (arguments.length() != count) {
        throw new UnsupportedOperationException(otherwise);
      }
    }

    private BoundFunction aggregate(JsonNode described, StructType arguments) {
      String kind = described.get("aggregate").asText();
      int limit = described.path("limit").asInt(Integer.MAX_VALUE);
      boolean whole = described.path("whole").asBoolean();
      boolean distinct = described.path("distinct").asBoolean();
      if (kind.equals("first") || kind.equals("last")) {
        return new Listed(spec, arguments, whole, limit, kind.equals("last"), distinct);
      }
      if (kind.equals("highest")) {
        return new Highest(spec, arguments, whole, limit, distinct, described.path("bits").asBoolean());
      }
      if (kind.equals("counts") || kind.equals("single")) {
        return new Bag(arguments, limit, kind.equals("single"));
      }
      if (kind.equals("variance")) {
        return new Variance(arguments.length() == 2);
      }
      throw new IllegalArgumentException("there is no aggregate \"" + kind + "\"");
    }

    private BoundFunction writer(JsonNode described, StructType arguments) throws IOException {
      expect(arguments, 1, "it takes one argument, the struct of the columns to write");
      DataType given = arguments.fields()[0].dataType();
      if (!(given instanceof StructType)) {
        throw new UnsupportedOperationException("it writes a struct of the columns");
      }
      switch (described.get("write").asText()) {
        case "AVRO":
          return new AvroWriter(spec, (StructType) given);
        case "PROTOBUF":
          return new ProtobufWriter(spec, (StructType) given);
        default:
          throw new IllegalArgumentException("\"write\" must name a writer, not " + described.get("write"));
      }
    }

    private Reader reader(JsonNode described) throws IOException {
      String format = described.path("read").asText();
      try {
        return Reader.named(format, spec);
      } catch (ClassNotFoundException e) {
        throw new IllegalArgumentException("\"read\" must name a reader, not \"" + format + "\"");
      }
    }

    public String description() {
      return "a part of ksqlpy";
    }

    public String name() {
      return spec;
    }
  }
}
