package io.sparkfuse.spark.facts;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Message;
import io.sparkfuse.contracts.BlockManagerAdded;
import io.sparkfuse.contracts.BlockManagerRemoved;
import io.sparkfuse.contracts.Fact;
import io.sparkfuse.contracts.NodeEvent;
import io.sparkfuse.contracts.ResourceProfileAdded;
import io.sparkfuse.contracts.SqlMetrics;
import io.sparkfuse.contracts.SqlPlan;
import io.sparkfuse.contracts.StageEnded;
import io.sparkfuse.contracts.StreamingEnded;
import io.sparkfuse.contracts.StreamingProgress;
import io.sparkfuse.contracts.StreamingStarted;
import io.sparkfuse.contracts.TaskEnded;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

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

  /** Each kind's key consists of the fields in contracts/shared/event_ids.yaml. */
  @Test
  void keysConsistOfTheSharedFields() {
    for (String shared : io.sparkfuse.contracts.EventIds.KEYS) {
      String kind = shared.substring(0, shared.indexOf(':'));
      FieldDescriptor member = Fact.getDescriptor().findFieldByName(kind);
      Message.Builder own = envelope().newBuilderForField(member);
      StringBuilder key = new StringBuilder();
      for (String field : shared.substring(kind.length() + 1).trim().split("\\|")) {
        if (field.equals("fact.event_time_ms") || field.equals("fact.collector")) {
          key.append(field.endsWith("_ms") ? "|5" : "|driver-1");
        } else if (!field.isEmpty()) {
          FieldDescriptor one = own.getDescriptorForType().findFieldByName(field);
          boolean isText = one.getJavaType() == FieldDescriptor.JavaType.STRING;
          boolean isLong = one.getJavaType() == FieldDescriptor.JavaType.LONG;
          Object number = isLong ? (Object) (long) one.getNumber() : (Object) one.getNumber();
          Object value = isText ? field : number;
          own.setField(one, value);
          key.append('|').append(value);
        }
      }
      String expected =
          "prod|local-17|1700|2|" + kind + "|" + key.substring(Math.min(1, key.length()));

      assertEquals(expected, EventIds.key(envelope().setField(member, own.build())));
    }
  }

  @Test
  void idEqualsDocumentedHash() throws Exception {
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
  void secondEndOfTaskHasItsOwnId() {
    EventIds ids = new EventIds();

    assertNotEquals(
        ids.of(taskEnd("success", "", 10)), ids.of(taskEnd("failed", "Resubmitted", 20)));
    assertEquals(ids.of(taskEnd("success", "", 10)), ids.of(taskEnd("success", "", 10)));
  }

  @Test
  void idDoesNotDependOnCollector() {
    Fact.Builder seenByAnother = taskEnd("success", "", 10).setCollector("shipper").setSeq(99);

    assertEquals(new EventIds().of(taskEnd("success", "", 10)), new EventIds().of(seenByAnother));
  }

  static Stream<Arguments> documentedKeys() {
    return Stream.of(
        arguments(
            "sql_plan|3|2",
            envelope().setSqlPlan(SqlPlan.newBuilder().setSqlExecutionId(3).setPlanVersion(2))),
        arguments(
            "sql_metrics|3",
            envelope().setSqlMetrics(SqlMetrics.newBuilder().setSqlExecutionId(3))),
        arguments(
            "block_manager_added|driver|9",
            envelope()
                .setBlockManagerAdded(
                    BlockManagerAdded.newBuilder().setExecutorId("driver").setAddedMs(9))),
        arguments(
            "block_manager_removed|1|10",
            envelope()
                .setBlockManagerRemoved(
                    BlockManagerRemoved.newBuilder().setExecutorId("1").setRemovedMs(10))),
        arguments(
            "streaming_started|r",
            envelope().setStreamingStarted(StreamingStarted.newBuilder().setRunId("r"))),
        arguments(
            "streaming_progress|r|4|11",
            envelope()
                .setStreamingProgress(
                    StreamingProgress.newBuilder().setRunId("r").setBatchId(4).setTriggeredMs(11))),
        arguments(
            "streaming_progress|r||11",
            envelope()
                .setStreamingProgress(
                    StreamingProgress.newBuilder().setRunId("r").setTriggeredMs(11))),
        arguments(
            "streaming_ended|r",
            envelope().setStreamingEnded(StreamingEnded.newBuilder().setRunId("r"))),
        arguments(
            "resource_profile_added|0",
            envelope().setResourceProfileAdded(ResourceProfileAdded.newBuilder().setProfileId(0))),
        arguments(
            "node_event|excluded|h|||12",
            envelope()
                .setNodeEvent(
                    NodeEvent.newBuilder().setEvent("excluded").setHost("h").setHappenedMs(12))),
        arguments(
            "node_event|taken back||7|3|13",
            envelope()
                .setNodeEvent(
                    NodeEvent.newBuilder()
                        .setEvent("taken back")
                        .setExecutorId("7")
                        .setStageId(3)
                        .setHappenedMs(13))));
  }

  @ParameterizedTest
  @MethodSource("documentedKeys")
  void keyOfEachKindEqualsDocumentation(String key, Fact.Builder fact) {
    assertEquals("prod|local-17|1700|2|" + key, EventIds.key(fact));
  }
}
