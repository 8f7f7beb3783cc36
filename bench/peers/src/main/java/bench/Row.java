package bench;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import org.apache.kafka.common.errors.SerializationException;
import org.apache.kafka.common.serialization.Deserializer;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serializer;

/** The columns of all jobs; those that a job does not have are null. */
record Row(Integer v, Double t, Long n, Long sum, String g, String name, String other) {

  static Row counted(Long n, Double t) {
    return new Row(null, t, n, null, null, null, null);
  }

  static Row summed(Long n, Long sum) {
    return new Row(null, null, n, sum, null, null, null);
  }

  Row at(Double t) {
    return new Row(v, t, null, null, null, null, null);
  }

  Row named(String name, String other) {
    return new Row(v, t, null, null, null, name, other);
  }

  /** Reads and writes some of the columns as JSON, with Jackson's streaming API as ksqlpy's own reader does. */
  static final class Json implements Serde<Row> {
    private static final JsonFactory JSON = new JsonFactory();

    private final String[] columns;

    Json(String... columns) {
      this.columns = columns;
    }

    @Override
    public Serializer<Row> serializer() {
      return (topic, row) -> row == null ? null : write(row);
    }

    @Override
    public Deserializer<Row> deserializer() {
      return (topic, text) -> text == null ? null : read(text);
    }

    private byte[] write(Row row) {
      ByteArrayOutputStream out = new ByteArrayOutputStream(96);
      try (JsonGenerator json = JSON.createGenerator(out)) {
        json.writeStartObject();
        for (String column : columns) {
          Object value = row.get(column);
          json.writeFieldName(column);
          if (value == null) {
            json.writeNull();
          } else if (value instanceof Integer number) {
            json.writeNumber(number.intValue());
          } else if (value instanceof Long number) {
            json.writeNumber(number.longValue());
          } else if (value instanceof Double number) {
            json.writeNumber(number.doubleValue());
          } else {
            json.writeString((String) value);
          }
        }
        json.writeEndObject();
      } catch (IOException e) {
        throw new SerializationException(e);
      }
      return out.toByteArray();
    }

    private static Row read(byte[] text) {
      Integer v = null;
      Double t = null;
      Long n = null;
      Long sum = null;
      String g = null;
      String name = null;
      String other = null;
      try (JsonParser json = JSON.createParser(text)) {
        json.nextToken();
        while (json.nextToken() == JsonToken.FIELD_NAME) {
          String field = json.currentName();
          if (json.nextToken() == JsonToken.VALUE_NULL) {
            continue;
          }
          switch (field) {
            case "V" -> v = json.getIntValue();
            case "T" -> t = json.getDoubleValue();
            case "N" -> n = json.getLongValue();
            case "SUM" -> sum = json.getLongValue();
            case "G" -> g = json.getText();
            case "NAME" -> name = json.getText();
            case "OTHER" -> other = json.getText();
            default -> json.skipChildren();
          }
        }
      } catch (IOException e) {
        throw new SerializationException(e);
      }
      return new Row(v, t, n, sum, g, name, other);
    }
  }

  private Object get(String column) {
    return switch (column) {
      case "V" -> v;
      case "T" -> t;
      case "N" -> n;
      case "SUM" -> sum;
      case "G" -> g;
      case "NAME" -> name;
      case "OTHER" -> other;
      default -> throw new IllegalArgumentException("there is no column " + column);
    };
  }
}
