package io.sparkfuse.spark.listener;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import java.time.Duration;
import java.util.Collections;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ExitCodesTest {
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "1 | Command exited with code 1",
        "137 | Unable to create executor due to null. exit code 137",
        "143 | Container from a bad node: container_e1_000003 on host: h2. Exit status: 143. Diagnostics: x",
        "-104 | Container marked as failed: container_1. Exit status: -104. Diagnostics: 4.5 GB of 4 GB",
        "137 | Container killed on request. Exit code is 137",
        "137 | The executor with id 3 exited with exit code 137(SIGKILL, possible container OOM).",
        "52 | The executor with id 7 exited with exit code 52(OutOfMemory). exit code: 0",
        "56 | Unknown executor exit code (56)",
        "255 | Executor finished with exitCode 255",
        "9 | finished: exit_status=9",
      })
  void theCodeIsFoundInTheWordsOfEachClusterManager(int code, String reason) {
    assertEquals(code, ExitCodes.in(reason));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "Executor heartbeat timed out after 126000 ms",
        "Remote RPC client disassociated",
        "worker lost: 10.0.0.5:7078",
        "The executor with id 4 was deleted by a user or the framework.",
        "exit code unknown",
        "exit code 12345678901",
      })
  void aReasonWithoutACodeHasNone(String reason) {
    assertNull(ExitCodes.in(reason));
  }

  @Test
  void noReasonHasNoCodeAndALongOneIsReadInLinearTime() {
    String blanks = "exit" + String.join("", Collections.nCopies(1_000_000, " exit  "));

    assertNull(ExitCodes.in(null));
    assertNull(assertTimeoutPreemptively(Duration.ofSeconds(20), () -> ExitCodes.in(blanks)));
  }
}
