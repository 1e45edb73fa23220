package io.sparkfuse.windows.aggregates;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sparkfuse.contracts.Fact;
import io.sparkfuse.contracts.TaskEnded;
import io.sparkfuse.windows.wire.FailedTasks;
import io.sparkfuse.windows.wire.FailuresOfClass;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.junit.jupiter.api.Test;

class FailuresTest {
  private final FailuresAggregate function = new FailuresAggregate();

  /**
   * All failed attempts of one failure class become one row with their number, hosts, failures per
   * task, and the last failure.
   */
  @Test
  void countsAttemptsByClass() {
    Failures failures = new Failures();
    failures.add(failed("IOException", 4, 10).setHost("h1").setFailureReason("disk").build());
    failures.add(failed("IOException", 4, 30).setHost("h2").setFailureReason("full").build());
    failures.add(failed("IOException", 7, 20).setHost("h1").build());
    failures.add(failed("Oops", 1, 90).build());
    FailuresOfClass io = failures.save().getClasses(0);

    assertEquals("IOException", io.getFailureClass());
    assertEquals(3, io.getFailedTasks());
    assertEquals(List.of("h1", "h2"), io.getHostsList());
    assertEquals(List.of(4, 7), io.getTaskIndexesList());
    assertEquals(List.of(2L, 1L), io.getTaskFailuresList());
    assertEquals("full", io.getFailureReason());
    assertEquals(4, io.getTaskIndex());
    assertEquals("h2", io.getHost());
    assertEquals(2, failures.save().getClassesCount());
  }

  /**
   * For a failed fetch, the row names the executor and host that stored the block; {@code hosts}
   * counts the host of the task.
   */
  @Test
  void failedFetchNamesTheRemoteSide() {
    Failures failures = new Failures();
    failures.add(
        failed("FetchFailed", 4, 10)
            .setExecutorId("1")
            .setHost("h1")
            .setFetchFailedExecutorId("8")
            .setFetchFailedHost("h8")
            .build());
    FailuresOfClass fetch = failures.save().getClasses(0);

    assertEquals("8", fetch.getExecutorId());
    assertEquals("h8", fetch.getHost());
    assertEquals(List.of("h1"), fetch.getHostsList());
  }

  /**
   * Even if all limits are exceeded, the result does not depend on the order of arrival and
   * merging.
   */
  @Test
  void isBoundedAndIndependentOfOrder() throws Exception {
    List<byte[]> ends = new ArrayList<>();
    for (int attempt = 0; attempt < 6_000; attempt++) {
      TaskEnded.Builder end =
          failed("Class" + attempt % 40, attempt % 2_400, attempt / 100)
              .setHost("host-" + attempt % 100)
              .setFailureReason("é".repeat(attempt % 3 * 2_000));
      ends.add(Fact.newBuilder().setTaskEnded(end).build().toByteArray());
    }
    FailedTasks expected = null;
    for (int round = 0; round < 4; round++) {
      Collections.shuffle(ends, new Random(round));
      Failures first = new Failures();
      Failures second = new Failures();
      ends.subList(0, 2_500).forEach(end -> function.accumulate(first, end));
      ends.subList(2_500, 6_000).forEach(end -> function.accumulate(second, end));
      Failures whole = Failures.restore(second.save());
      function.merge(whole, List.of(first));
      FailedTasks saved = FailedTasks.parseFrom(function.getValue(whole));
      expected = expected == null ? saved : expected;

      assertEquals(expected, saved);
    }
    assertEquals(Failures.MAX_CLASSES, expected.getClassesCount());
    for (FailuresOfClass one : expected.getClassesList()) {
      assertEquals(150, one.getFailedTasks(), "counted from the first attempt on");
      assertTrue(one.getHostsCount() <= Failures.MAX_HOSTS);
      assertTrue(one.getTaskIndexesCount() <= Failures.MAX_TASKS);
    }
  }

  /**
   * If there are too many failure classes, the windows job keeps the same ones as the kernel does
   * offline.
   */
  @Test
  @SuppressWarnings("unchecked")
  void sharedCasesHaveTheirClasses() throws Exception {
    byte[] json =
        Files.readAllBytes(Path.of("../../contracts/generated/shared/failure_limits.json"));
    Map<String, Object> shared = new ObjectMapper().readValue(json, Map.class);
    for (Map<String, Object> test : (List<Map<String, Object>>) shared.get("cases")) {
      Failures failures = new Failures();
      for (String failureClass : (List<String>) test.get("failures")) {
        failures.add(failed(failureClass, 1, 1).build());
      }
      List<String> kept =
          failures.save().getClassesList().stream().map(FailuresOfClass::getFailureClass).toList();

      assertEquals(test.get("kept"), kept, (String) test.get("name"));
    }
  }

  /** Thousands of tasks and hosts of one class stay within the limits. */
  @Test
  void boundsTasksAndHosts() {
    Failures failures = new Failures();
    for (int task = 5_000; task > 0; task--) {
      failures.add(failed("Oops", task, task).setHost("host-" + task).build());
    }
    FailuresOfClass one = failures.save().getClasses(0);

    assertEquals(5_000, one.getFailedTasks());
    assertEquals(Failures.MAX_TASKS, one.getTaskIndexesCount());
    assertEquals(Failures.MAX_HOSTS, one.getHostsCount());
  }

  /** Texts are cut at 2 kB, between two characters. */
  @Test
  void cutsTextsBetweenCharacters() {
    String emoji = "x" + "\uD83D\uDD25".repeat(1_000);

    assertEquals("short", Failures.capped("short"));
    assertEquals("a".repeat(2_048), Failures.capped("a".repeat(9_000)));
    assertEquals("x" + "\uD83D\uDD25".repeat(511), Failures.capped(emoji));
    assertTrue(Failures.capped(emoji).getBytes(StandardCharsets.UTF_8).length <= 2_048);
  }

  /**
   * Without failures the result is empty; a failure without a class gets Spark's class
   * UnknownReason.
   */
  @Test
  void isEmptyWithoutFailures() {
    Failures failures = new Failures();
    function.accumulate(failures, null);
    byte[] nothing = function.getValue(failures);
    failures.add(TaskEnded.getDefaultInstance());

    assertNull(nothing);
    assertFalse(failures.isEmpty());
    assertEquals("UnknownReason", failures.save().getClasses(0).getFailureClass());
  }

  /** A record is skipped if it has a malformed field, even if no column declares this field. */
  @Test
  void skipsMalformedRecords() {
    Failures failures = new Failures();
    // Field 36 (sql_plan) with two bytes that are not a message.
    function.accumulate(failures, new byte[] {(byte) 0xA2, 0x02, 0x02, 0x0A, 0x7F});

    assertTrue(failures.isEmpty());
  }

  private static TaskEnded.Builder failed(String failureClass, int index, long finishedMs) {
    return TaskEnded.newBuilder()
        .setFailureClass(failureClass)
        .setTaskIndex(index)
        .setFinishedMs(finishedMs);
  }
}
