package io.sparkfuse.spark.settings;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.sparkfuse.spark.listener.SharedCases;
import java.time.Instant;
import java.util.Arrays;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Tests that the hook reads a deadline as detection does. */
class DeadlineTest {
  static Stream<Map<String, Object>> cases() throws Exception {
    return SharedCases.of("generated/shared/deadlines.json");
  }

  @ParameterizedTest
  @MethodSource("cases")
  void sharedCaseHasItsDeadline(Map<String, Object> test) {
    String text = (String) test.get("text");
    long startedMs = Instant.parse((String) test.get("start")).toEpochMilli();
    Long allowedMs = Deadline.allowedMs(text, startedMs);

    String deadline =
        allowedMs == null ? "none" : Instant.ofEpochMilli(startedMs + allowedMs).toString();
    assertEquals(test.get("deadline"), deadline, text);
  }

  @Test
  void emptyOrVeryLongTextIsNoDeadline() {
    char[] digits = new char[10_000];
    Arrays.fill(digits, '1');

    assertNull(Deadline.allowedMs("", 0));
    assertNull(Deadline.allowedMs(new String(digits) + "h", 0));
  }
}
