package io.sparkfuse.spark.facts;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;

import org.junit.jupiter.api.Test;

class WarmUpTest {
  @Test
  void emptyFactOfEachKindIsEncoded() {
    assertDoesNotThrow(WarmUp::run);
  }
}
