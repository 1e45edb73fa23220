package io.sparkfuse.spark.facts;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import io.sparkfuse.contracts.Fact;
import io.sparkfuse.contracts.StageEnded;
import io.sparkfuse.contracts.TaskEnded;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.Arrays;
import org.junit.jupiter.api.Test;

class EventIdsTest {
  private static Fact.Builder envelope() {
    return Fact.newBuilder()
        .setCluster("prod")
        .setAppId("local-17")
        .setAppStartMs(1_700)
        .setAppAttempt(2)
        .setCollector("driver-1")
        .setEventTimeMs(5);
  }

  private static Fact.Builder taskEnd(String outcome, String failure, long finishedMs) {
    return envelope()
        .setTaskEnded(
            TaskEnded.newBuilder()
                .setTaskId(7)
                .setOutcome(outcome)
                .setFailureClass(failure)
                .setFinishedMs(finishedMs));
  }

  @Test
  void theIdIsTheDocumentedHash() throws Exception {
    Fact.Builder fact =
        envelope().setStageEnded(StageEnded.newBuilder().setStageId(3).setStageAttempt(1));
    byte[] digest =
        MessageDigest.getInstance("SHA-256")
            .digest("prod|local-17|1700|2|stage_ended|3|1".getBytes(StandardCharsets.UTF_8));

    assertEquals("prod|local-17|1700|2|stage_ended|3|1", EventIds.key(fact));
    assertEquals(
        com.google.protobuf.ByteString.copyFrom(Arrays.copyOf(digest, 16)),
        new EventIds().of(fact));
  }

  @Test
  void theSameTaskMayEndTwice() {
    EventIds ids = new EventIds();

    assertNotEquals(
        ids.of(taskEnd("success", "", 10)), ids.of(taskEnd("failed", "Resubmitted", 20)));
    assertEquals(ids.of(taskEnd("success", "", 10)), ids.of(taskEnd("success", "", 10)));
  }

  @Test
  void whoSawItDoesNotMatter() {
    Fact.Builder seenByAnother = taskEnd("success", "", 10).setCollector("shipper").setSeq(99);

    assertEquals(new EventIds().of(taskEnd("success", "", 10)), new EventIds().of(seenByAnother));
  }
}
