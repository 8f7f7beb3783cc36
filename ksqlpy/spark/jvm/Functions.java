package ksqlpy;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import org.apache.spark.sql.connector.catalog.FunctionCatalog;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.functions.BoundFunction;
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * The catalog that Spark asks for our functions, by {@code spark.sql.catalog.ksqlpy=ksqlpy.Functions}.
 *
 * <p>A function's name is its specification, since Spark gives a function no other place for constants that fix the
 * type of the result: {@code ksqlpy.`{"read":"JSON","bare":false,"type":…}`(value)}, backticks in it doubled.
 * {@code read} is JSON, KAFKA or DELIMITED; see {@link Reader} for the result and {@link Type} for the type. The other kinds are
 * {@code {"of":"row","tail":…}} and {@code {"of":"group","tail":…}}, see {@link Tail}, {@code {"count":name}}, see
 * {@link Counter}, and {@code {"header":true}}, see {@link HeaderBytes}.
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
    return new Unbound(identifier.name());
  }

  /** A function before Spark knows its arguments. Spark makes an AnalysisException of what bind throws. */
  private static final class Unbound implements UnboundFunction {
    private final String spec;

    Unbound(String spec) {
      this.spec = spec;
    }

    public BoundFunction bind(StructType arguments) {
      try {
        JsonNode described = MAPPER.readTree(spec);
        if (described.has("header")) {
          if (arguments.length() < 4 || arguments.length() > 6) {
            throw new UnsupportedOperationException(
                "it takes rowtime, place, offset, window and up to two offsets of joined tables");
          }
          return new HeaderBytes(arguments.length() - 4);
        }
        if (described.has("count")) {
          expect(arguments, 1, "it takes one argument, the condition");
          return new Counter(((JsonNode) described.get("count")).asText());
        }
        if (described.has("tail")) {
          String tail = MAPPER.writeValueAsString(described.get("tail"));
          if (((JsonNode) described.path("of")).asText().equals("group")) {
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

    private Reader reader(JsonNode described) throws IOException {
      String format = ((JsonNode) described.path("read")).asText();
      if (format.equals("JSON")) {
        return new JsonReader(spec);
      }
      if (format.equals("KAFKA")) {
        return new KafkaReader(spec);
      }
      if (format.equals("DELIMITED")) {
        return new DelimitedReader(spec);
      }
      throw new IllegalArgumentException("\"read\" must be JSON, KAFKA or DELIMITED, not \"" + format + "\"");
    }

    public String description() {
      return "reads the key or the value of a record";
    }

    public String name() {
      return spec;
    }
  }
}
