package io.sparkfuse.spark.listener;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import java.time.Duration;
import java.util.Collections;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class ExitCodesTest {
  static Stream<Map<String, Object>> cases() throws Exception {
    return SharedCases.of("generated/shared/executor_exit_codes.json");
  }

  @ParameterizedTest
  @MethodSource("cases")
  void sharedCaseHasItsExitCode(Map<String, Object> test) {
    Number expected = (Number) test.get("exit_code");
    Integer code = ExitCodes.in((String) test.get("reason"));

    assertEquals(expected == null ? null : expected.intValue(), code, (String) test.get("name"));
  }

  @Test
  void absentOrLongReasonHasNoCode() {
    String blanks = "exit" + String.join("", Collections.nCopies(1_000_000, " exit  "));

    assertNull(ExitCodes.in(null));
    assertNull(assertTimeoutPreemptively(Duration.ofSeconds(20), () -> ExitCodes.in(blanks)));
  }
}
