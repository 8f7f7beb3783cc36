package ksqlpy.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import ksqlpy.tasks.Upstream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

final class ProgressBoardTest {
  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final String NOTHING = "{'done':[],'readers':[],'oldest':[],'sent':[],'left':false}";

  @BeforeEach
  void begin() {
    ProgressBoard.begin();
  }

  @AfterEach
  void end() {
    Upstream.ends("copy");
    ProgressBoard.begin();
  }

  private static JsonNode take(String executor, long known, String batches, String watches, String queries) throws Exception {
    String report =
        ("{'exchange':'" + executor + "','known':" + known + ",'waits':false,'version':-1,'batches':{" + batches
                + "},'watches':[" + watches + "],'queries':{" + queries + "}}")
            .replace('\'', '"');
    return MAPPER.readTree(ProgressBoard.take(MAPPER.readTree(report)));
  }

  private static JsonNode take(String executor, long known, String batches) throws Exception {
    return take(executor, known, batches, "", "");
  }

  @Test
  void anExecutorIsToldWhatTheOthersSayOfItsBatches() throws Exception {
    take("1", 3, "'b':" + NOTHING.replace("'oldest':[]", "'oldest':[[0,1,700]]") + ",'c':" + NOTHING);
    take("2", 5, "'b':" + NOTHING.replace("'done':[]", "'done':[[0,0,1,4]]"));
    JsonNode told = take("3", 6, "'b':" + NOTHING);
    assertEquals(3, told.get("number").asLong());
    assertEquals("{\"b\"", told.get("batches").toString().substring(0, 4));
    JsonNode others = told.get("batches").get("b");
    assertEquals("[[0,1,700]]", others.get("oldest").toString());
    assertEquals("[[0,0,1,4]]", others.get("done").toString());
    assertEquals(3, others.get("known").asLong());
  }

  @Test
  void itIsToldNothingOfItselfNorOfOneThatIsGone() throws Exception {
    take("1", 3, "'b':" + NOTHING.replace("'oldest':[]", "'oldest':[[0,1,700]]"));
    ProgressBoard.left("1");
    JsonNode others = take("2", 5, "'b':" + NOTHING.replace("'oldest':[]", "'oldest':[[0,0,1]]")).get("batches").get("b");
    assertEquals("[]", others.get("oldest").toString());
  }

  @Test
  void whatAnExecutorSaidLastOfABatchIsToldWhenItHasLeft() throws Exception {
    String last = NOTHING.replace("'done':[]", "'done':[[0,0,1,4]]").replace("false", "true");
    take("1", 3, "'b':" + last);
    take("1", 4, "");
    assertEquals("[[0,0,1,4]]", take("2", 5, "'b':" + NOTHING).get("batches").get("b").get("done").toString());
    take("1", 6, "'b':" + NOTHING); // one more of its tasks
    assertEquals("[]", take("2", 7, "'b':" + NOTHING).get("batches").get("b").get("done").toString());
  }

  @Test
  void noRowIsNextInABatchOfAnExecutorThatIsGone() throws Exception {
    take("1", 3, "'b':" + NOTHING + ",'c':" + NOTHING.replace("false", "true"));
    take("2", 4, "'b':" + NOTHING + ",'c':" + NOTHING);
    ProgressBoard.left("1");
    JsonNode told = take("2", 5, "'b':" + NOTHING + ",'c':" + NOTHING).get("batches");
    assertEquals(-1, told.get("b").get("known").asLong());
    assertTrue(told.get("b").get("age").asLong() > 500);
    Thread.sleep(1_100); // its tasks of c had ended
    told = take("2", 6, "'b':" + NOTHING + ",'c':" + NOTHING).get("batches");
    assertEquals(-1, told.get("b").get("known").asLong());
    assertEquals(Long.MAX_VALUE, told.get("c").get("known").asLong());
  }

  @Test
  void livesOfAQueryThatNobodyReportsAreForgotten() throws Exception {
    Upstream.writes("copy", "orders", "copied");
    for (int i = 0; i < 100; i++) {
      take("1", i, "", "", copy(5_000, 4_000, 7, 7).replace("l1", "l" + i));
    }
    assertEquals(2, ProgressBoard.livesOf("copy")); // the newest, and that of the report before
  }

  private static String copy(long at, long oldest, long sent, long answered) {
    return "'copy':{'life':'l1','tasks':1,'points':[[" + at + "," + Long.MAX_VALUE + "]],'oldest':" + oldest
        + ",'sent':" + sent + ",'answered':" + answered + "}";
  }

  private static long written() {
    return Upstream.all().get(0).done().time();
  }

  @Test
  void aQueryHasWrittenWhatItsBrokersHaveOfAllThatWasRead() throws Exception {
    Upstream.writes("copy", "orders", "copied");
    JsonNode told = take("2", 0, "", "'copy'", "");
    assertEquals("copied", told.get("writers").get(0).get("topic").asText());
    assertTrue(told.get("done").has("copy"));
    assertEquals("copy", take("1", 1, "", "", copy(5_000, 4_000, 7, 7)).get("watched").get(0).asText());
    Thread.sleep(60); // rows settle
    take("1", 2, "", "", copy(6_000, 4_000, 7, 7));
    assertEquals(Long.MIN_VALUE, written()); // a row of 4,000 is on its way
    take("1", 3, "", "", copy(6_000, 5_500, 9, 7));
    take("1", 4, "", "", copy(6_000, 5_500, 10, 8));
    assertEquals(Long.MIN_VALUE, written()); // a result of it may not be with the brokers
    take("1", 5, "", "", copy(6_000, 5_500, 12, 10));
    assertEquals(5_000, written());
    assertEquals(5_000, take("2", 6, "", "'copy'", "").get("done").get("copy").get(0).asLong());
  }

  @Test
  void aQueryThatIsStartedAgainHasWrittenNothingYet() throws Exception {
    Upstream.writes("copy", "orders", "copied");
    take("2", 0, "", "'copy'", copy(9_000, Long.MAX_VALUE, 0, 0));
    Upstream.writes("copy", "orders", "copied");
    for (int i = 1; i < 5; i++) { // the reader of the life before is still there
      take("2", i, "", "'copy'", copy(9_000, Long.MAX_VALUE, 0, 0));
      Thread.sleep(30);
    }
    assertEquals(Long.MIN_VALUE, written());
    assertFalse(Upstream.all().isEmpty());
  }
}
