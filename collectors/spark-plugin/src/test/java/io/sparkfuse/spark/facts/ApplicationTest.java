package io.sparkfuse.spark.facts;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import org.junit.jupiter.api.Test;

class ApplicationTest {
  @Test
  void attemptNumberIsParsedForEachClusterManager() {
    assertEquals(0, Application.attemptNumber(null));
    assertEquals(2, Application.attemptNumber("2"));
    assertEquals(2, Application.attemptNumber("appattempt_1700_0004_000002"));
    assertEquals(0, Application.attemptNumber("first"));
  }

  @Test
  void executorParsesLineOfDriver() {
    Application parsed = new Application("prod", "team", "app-1", 3, 17);

    assertEquals(parsed.toLine(), Application.ofLine(parsed.toLine()).toLine());
    assertNull(Application.ofLine(""));
    assertNull(Application.ofLine(null));
  }
}
