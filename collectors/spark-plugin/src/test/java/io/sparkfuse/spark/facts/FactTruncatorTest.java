package io.sparkfuse.spark.facts;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sparkfuse.contracts.ApplicationStarted;
import io.sparkfuse.contracts.Fact;
import io.sparkfuse.contracts.SqlPlan;
import io.sparkfuse.contracts.TaskEnded;
import java.util.Arrays;
import org.junit.jupiter.api.Test;

class FactTruncatorTest {
  private static final Application APPLICATION = new Application("c", "t", "app-1", 0, 5);
  private final FactEncoder encoder = new FactEncoder("driver-1");

  private static String wide(int length) {
    char[] wide = new char[length];
    Arrays.fill(wide, '\u20ac');
    return new String(wide);
  }

  private Fact encoded(Fact.Builder fact) throws Exception {
    byte[] record = encoder.encode(fact.setEventTimeMs(1), APPLICATION, Lane.BULK, 3);
    assertTrue(record.length <= FactTruncator.MAX_BYTES, "length " + record.length);
    return Fact.parseFrom(record);
  }

  @Test
  void smallFactIsUnchanged() throws Exception {
    Fact fact = encoded(Fact.newBuilder().setTaskEnded(TaskEnded.newBuilder().setTaskId(9)));

    assertEquals(9, fact.getTaskEnded().getTaskId());
    assertEquals(0, encoder.cutFacts());
  }

  @Test
  void longTextIsCutAndEnvelopeIsKept() throws Exception {
    TaskEnded.Builder task = TaskEnded.newBuilder().setTaskId(9).setFailureClass(wide(3_000_000));
    Fact fact = encoded(Fact.newBuilder().setTaskEnded(task));

    assertEquals(9, fact.getTaskEnded().getTaskId());
    assertTrue(fact.getTaskEnded().getFailureClass().startsWith(wide(1_000)));
    assertEquals("app-1", fact.getAppId());
    assertEquals(3, fact.getSeq());
    assertEquals(1, encoder.cutFacts());
  }

  @Test
  void parallelListsKeepEqualLength() throws Exception {
    SqlPlan.Builder plan = SqlPlan.newBuilder().setSqlExecutionId(4);
    for (int i = 0; i < 100_000; i++) {
      plan.addNodeNames("node " + i).addNodeParents(i - 1);
    }
    SqlPlan cut = encoded(Fact.newBuilder().setSqlPlan(plan)).getSqlPlan();

    assertTrue(cut.getNodeNamesCount() > 1_000);
    assertEquals(cut.getNodeNamesCount(), cut.getNodeParentsCount());
  }

  @Test
  void longMapIsCut() throws Exception {
    ApplicationStarted.Builder application = ApplicationStarted.newBuilder().setName("a");
    for (int i = 0; i < 50_000; i++) {
      application.putConfiguration("spark.executor." + i, wide(500));
    }
    Fact fact = encoded(Fact.newBuilder().setApplicationStarted(application));

    assertTrue(fact.getApplicationStarted().getConfigurationCount() > 10);
  }
}
