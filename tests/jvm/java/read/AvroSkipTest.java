package ksqlpy.read;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericDatumWriter;
import org.apache.avro.io.BinaryDecoder;
import org.apache.avro.io.BinaryEncoder;
import org.apache.avro.io.DecoderFactory;
import org.apache.avro.io.EncoderFactory;
import org.junit.jupiter.api.Test;

final class AvroSkipTest {
  private static final String EACH =
      "{'type':'record','name':'R','fields':[{'name':'a','type':'string'},{'name':'b','type':'bytes'},"
          + "{'name':'c','type':{'type':'fixed','name':'F','size':3}},{'name':'d','type':{'type':'enum','name':'E','symbols':['X','Y']}},"
          + "{'name':'e','type':'int'},{'name':'f','type':'long'},{'name':'g','type':'float'},{'name':'h','type':'double'},"
          + "{'name':'i','type':'boolean'},{'name':'j','type':['null','string']},{'name':'k','type':{'type':'array','items':'int'}},"
          + "{'name':'l','type':{'type':'map','values':'long'}}]}";

  private static BinaryDecoder decoder(byte[] bytes) {
    return DecoderFactory.get().binaryDecoder(bytes, null);
  }

  @Test
  void everyKindOfValueIsPassedBy() throws IOException {
    Schema schema = new Schema.Parser().parse(EACH.replace('\'', '"'));
    GenericData.Record record = new GenericData.Record(schema);
    record.put("a", "text");
    record.put("b", java.nio.ByteBuffer.wrap(new byte[] {1, 2}));
    record.put("c", new GenericData.Fixed(schema.getField("c").schema(), new byte[3]));
    record.put("d", new GenericData.EnumSymbol(schema.getField("d").schema(), "Y"));
    record.put("e", Integer.valueOf(-70_000));
    record.put("f", Long.valueOf(Long.MIN_VALUE));
    record.put("g", Float.valueOf(1.5f));
    record.put("h", Double.valueOf(2.5));
    record.put("i", Boolean.TRUE);
    record.put("j", "more");
    record.put("k", java.util.List.of(Integer.valueOf(1), Integer.valueOf(300)));
    record.put("l", java.util.Map.of("x", Long.valueOf(5)));
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    BinaryEncoder to = EncoderFactory.get().binaryEncoder(bytes, null);
    new GenericDatumWriter<GenericData.Record>(schema).write(record, to);
    to.writeInt(77);
    to.flush();
    BinaryDecoder in = decoder(bytes.toByteArray());
    AvroSkip.skip(schema, in);
    assertEquals(77, in.readInt());
    assertTrue(in.isEnd());
  }

  @Test
  void recordsThatHoldTheNextOneTwiceEndSomewhere() {
    StringBuilder text = new StringBuilder("{'type':'record','name':'R40','fields':[{'name':'x','type':'null'}]}");
    for (int i = 39; i >= 0; i--) {
      text.insert(0, "{'type':'record','name':'R" + i + "','fields':[{'name':'a','type':");
      text.append("},{'name':'b','type':'R" + (i + 1) + "'}]}");
    }
    Schema schema = new Schema.Parser().parse(text.toString().replace('\'', '"'));
    assertThrows(Unreadable.class, () -> AvroSkip.skip(schema, decoder(new byte[0])));
  }

  @Test
  void arraysOfNothingEndSomewhere() throws IOException {
    Schema schema = new Schema.Parser().parse("{\"type\":\"array\",\"items\":\"null\"}");
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    BinaryEncoder to = EncoderFactory.get().binaryEncoder(bytes, null);
    to.writeLong(Integer.MAX_VALUE / 2);
    to.writeLong(0);
    to.flush();
    assertThrows(Unreadable.class, () -> AvroSkip.skip(schema, decoder(bytes.toByteArray())));
  }
}
