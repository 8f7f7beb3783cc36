package ksqlpy.metrics;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import ksqlpy.functions.Counter;
import org.junit.jupiter.api.Test;

/** What is told of all queries is what is told of each, without that which no metric needs. */
final class FiguresTest {
  private static JsonNode all() throws Exception {
    return new ObjectMapper().readTree(Figures.readAll()).get("queries");
  }

  @Test
  void eachQueryHasItsOwnCounts() throws Exception {
    Counter.add("CSAS_A_1:late");
    Counter.add("CSAS_A_1:late");
    Counter.add("CSAS_A_11:failed");
    long now = System.currentTimeMillis();
    Latency.of("CSAS_A_11").add(now - 20, now, 3);
    JsonNode all = all();
    assertEquals("{\"late\":2}", all.at("/CSAS_A_1/here/sums").toString());
    assertEquals(1, all.at("/CSAS_A_11/here/sums/failed").asInt());
    assertEquals(3, all.at("/CSAS_A_11/here/sums/took:30").asInt());
    JsonNode alone = new ObjectMapper().readTree(Figures.read("CSAS_A_11"));
    assertEquals(all.at("/CSAS_A_11/here/sums"), alone.at("/here/sums"));
    assertEquals("{\"20\":3}", alone.at("/here/latency").toString());
    assertEquals(alone.at("/here/latency"), all.at("/CSAS_A_11/here/latency"));
    assertTrue(alone.get("here").has("leads"));
    assertFalse(all.at("/CSAS_A_11/here").has("leads"));
    Figures.forget("CSAS_A_1");
    assertFalse(all().has("CSAS_A_1"));
    assertTrue(all().has("CSAS_A_11"));
    Figures.forget("CSAS_A_11");
    assertFalse(all().has("CSAS_A_11"));
  }
}
