package io.sparkfuse.spark.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** Must-do 6, for what goes wrong on the way to the broker. */
class SendBreakerTest {
  private final Deliveries deliveries = new Deliveries();
  private final SendBreaker breaker = new SendBreaker(deliveries);

  private void take(int records) {
    for (int i = 0; i < records; i++) {
      deliveries.tookOne();
      breaker.took();
    }
  }

  private void openByRefusal() {
    assertTrue(breaker.allows(0));
    breaker.refused(0);
    assertEquals("closed", breaker.state());
    breaker.refused(SendBreaker.PATIENCE_MS);
    assertEquals("open", breaker.state());
  }

  @Test
  void must_do_06_itOpensAfterItsPatienceAndLetsOneTry() {
    openByRefusal();
    long probeMs = SendBreaker.PATIENCE_MS + SendBreaker.PAUSE_MS;

    assertFalse(breaker.allows(probeMs - 1));
    assertTrue(breaker.allows(probeMs));
    assertEquals("half-open", breaker.state());
    take(1);
    assertFalse(breaker.allows(probeMs + 1), "only one goes until its fate is known");
    deliveries.acknowledgedOne();
    assertTrue(breaker.allows(probeMs + 2));
    assertEquals("closed", breaker.state());
  }

  @Test
  void must_do_06_aProbeThatFailsOpensItAgain() {
    openByRefusal();
    long probeMs = SendBreaker.PATIENCE_MS + SendBreaker.PAUSE_MS;
    assertTrue(breaker.allows(probeMs));
    take(1);
    deliveries.failedOne();

    assertFalse(breaker.allows(probeMs + 1));
    assertEquals("open", breaker.state());
    assertTrue(breaker.allows(probeMs + 1 + SendBreaker.PAUSE_MS));
    breaker.refused(probeMs + 1 + SendBreaker.PAUSE_MS);
    assertEquals("open", breaker.state());
  }

  @Test
  void must_do_06_manyFailuresInARowOpenIt() {
    breaker.allows(0);
    take((int) SendBreaker.MOST_FAILURES);
    for (int i = 1; i < SendBreaker.MOST_FAILURES; i++) {
      deliveries.failedOne();
    }
    assertTrue(breaker.allows(1));
    deliveries.failedOne();

    assertFalse(breaker.allows(2));
  }

  @Test
  void must_do_06_aBrokerThatTakesAndNeverAnswersOpensIt() {
    breaker.allows(0);
    take(5);

    assertTrue(breaker.allows(SendBreaker.SILENCE_MS - 1));
    assertFalse(breaker.allows(SendBreaker.SILENCE_MS));
  }

  @Test
  void aLongTimeWithoutAnythingToSendIsNoSilence() {
    breaker.allows(0);
    take(1);
    deliveries.acknowledgedOne();

    assertTrue(breaker.allows(3_600_000));
    take(1);
    assertTrue(breaker.allows(3_600_001));
  }
}
