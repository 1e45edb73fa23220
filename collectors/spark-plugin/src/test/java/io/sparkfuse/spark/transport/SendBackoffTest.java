package io.sparkfuse.spark.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** Tests guarantee 06 of docs/plugin.md for failures between the plugin and the broker. */
class SendBackoffTest {
  private final DeliveryCounters deliveries = new DeliveryCounters();
  private final SendBackoff backoff = new SendBackoff(deliveries);

  private void take(int records) {
    for (int i = 0; i < records; i++) {
      deliveries.acceptedOne();
      backoff.accepted();
    }
  }

  private void openByRefusal() {
    assertTrue(backoff.allows(0));
    backoff.rejected(0);
    assertEquals("closed", backoff.state());
    backoff.rejected(SendBackoff.PATIENCE_MS);
    assertEquals("open", backoff.state());
  }

  @Test
  void guarantee_06_refusalsOpenBackoffThenOneTry() {
    openByRefusal();
    long probeMs = SendBackoff.PATIENCE_MS + SendBackoff.PAUSE_MS;

    assertFalse(backoff.allows(probeMs - 1));
    assertTrue(backoff.allows(probeMs));
    assertEquals("half-open", backoff.state());
    take(1);
    assertFalse(backoff.allows(probeMs + 1), "only one goes until its fate is known");
    deliveries.acknowledgedOne();
    assertTrue(backoff.allows(probeMs + 2));
    assertEquals("closed", backoff.state());
  }

  @Test
  void guarantee_06_failedTryOpensBackoffAgain() {
    openByRefusal();
    long probeMs = SendBackoff.PATIENCE_MS + SendBackoff.PAUSE_MS;
    assertTrue(backoff.allows(probeMs));
    take(1);
    deliveries.failedOne();

    assertFalse(backoff.allows(probeMs + 1));
    assertEquals("open", backoff.state());
    assertTrue(backoff.allows(probeMs + 1 + SendBackoff.PAUSE_MS));
    backoff.rejected(probeMs + 1 + SendBackoff.PAUSE_MS);
    assertEquals("open", backoff.state());
  }

  @Test
  void guarantee_06_failuresInRowOpenBackoff() {
    backoff.allows(0);
    take((int) SendBackoff.MAX_FAILURES);
    for (int i = 1; i < SendBackoff.MAX_FAILURES; i++) {
      deliveries.failedOne();
    }
    assertTrue(backoff.allows(1));
    deliveries.failedOne();

    assertFalse(backoff.allows(2));
  }

  @Test
  void guarantee_06_missingAcknowledgementsOpenBackoff() {
    backoff.allows(0);
    take(5);

    assertTrue(backoff.allows(SendBackoff.SILENCE_MS - 1));
    assertFalse(backoff.allows(SendBackoff.SILENCE_MS));
  }

  @Test
  void guarantee_06_unansweredTryOpensBackoffAgain() {
    openByRefusal();
    long waitedMs = SendBackoff.PATIENCE_MS + 10 * SendBackoff.SILENCE_MS;
    assertTrue(backoff.allows(SendBackoff.PATIENCE_MS + SendBackoff.PAUSE_MS));
    assertTrue(backoff.allows(waitedMs), "the wait for a record is not the wait for an answer");
    take(1);

    assertFalse(backoff.allows(waitedMs + SendBackoff.SILENCE_MS - 1));
    assertEquals("half-open", backoff.state());
    assertFalse(backoff.allows(waitedMs + SendBackoff.SILENCE_MS));
    assertEquals("open", backoff.state());
  }

  @Test
  void idleTimeIsNotMissingAcknowledgement() {
    backoff.allows(0);
    take(1);
    deliveries.acknowledgedOne();

    assertTrue(backoff.allows(3_600_000));
    take(1);
    assertTrue(backoff.allows(3_600_001));
  }
}
