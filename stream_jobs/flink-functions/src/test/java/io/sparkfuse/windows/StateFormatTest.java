package io.sparkfuse.windows;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sparkfuse.windows.wire.StageState;
import org.junit.jupiter.api.Test;

class StateFormatTest {
  /** State without a format, and state of the newest format, is accepted. */
  @Test
  void knownFormatIsAccepted() {
    assertDoesNotThrow(() -> StateFormat.require(StageState.getDefaultInstance().getStateFormat()));
    assertDoesNotThrow(() -> StateFormat.require(StateFormat.NEWEST));
  }

  /** State of a newer format is refused with a message that names both formats. */
  @Test
  void newerFormatIsRefused() {
    IllegalStateException refusal =
        assertThrows(
            IllegalStateException.class, () -> StateFormat.require(StateFormat.NEWEST + 1));
    assertTrue(
        refusal.getMessage().startsWith("The saved state has format 2, which is newer than"));
  }
}
