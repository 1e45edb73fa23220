package io.sparkfuse.detect;

import static io.sparkfuse.detect.StageBounds.Answer.EXCEEDED;
import static io.sparkfuse.detect.StageBounds.Answer.UNKNOWN;
import static io.sparkfuse.detect.StageBounds.Answer.WITHIN;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

class StageBoundsTest {
  private static final String APP = "prod\u001fapp-1\u001f1\u001f0";
  private static final String STAGE = "stage/3/0";
  private static final long EPOCH = 1_000;
  private static final long WINDOW_MS = 5_000;
  private static final long LINGER_MS = 30_000;
  private long nowNs = 1;
  private final StageBounds bounds = new StageBounds(1_000, () -> nowNs);

  private void publish(String app, String subject, long epoch, long number) {
    publish(app, subject, epoch, number, 1);
  }

  private void publish(String app, String subject, long epoch, long number, long runsPython) {
    byte[] name = subject.getBytes(StandardCharsets.UTF_8);
    ByteBuffer record = ByteBuffer.allocate(6 * Long.BYTES + name.length);
    record.putLong(epoch).putLong(number);
    record.putLong(80).putLong(60_000).putLong(400_000).putLong(runsPython).put(name);
    bounds.publish(app, record.array());
  }

  private void publish(long number) {
    publish(APP, STAGE, EPOCH, number);
  }

  private StageBounds.Answer row(long number, long tasks, long elapsedMs, long cpuMs) {
    StageBounds.Measures measures =
        new StageBounds.Measures(EPOCH, number, number * WINDOW_MS, tasks, elapsedMs, cpuMs);
    return bounds.check(APP, STAGE, measures, LINGER_MS);
  }

  private StageBounds.Answer row(long number) {
    return row(number, 80, 60_000, 400_000);
  }

  @Test
  void rowIsComparedWithEachBound() {
    publish(1);

    assertEquals(WITHIN, row(2));
    assertEquals(EXCEEDED, row(2, 81, 60_000, 400_000));
    assertEquals(EXCEEDED, row(2, 80, 60_001, 400_000));
    assertEquals(EXCEEDED, row(2, 80, 60_000, 400_001));
  }

  /** An application that runs for a long time has more stages than bounds fit into the memory. */
  @Test
  void endedStagesTakeNoPlace() {
    publish("another application", STAGE, EPOCH, 1, 0);
    for (int stage = 0; stage < 2_000; stage++) {
      publish(APP, "stage/" + stage + "/0", EPOCH, 1);
      bounds.stageEnded(APP, "stage/" + stage + "/0");
    }
    publish(1);

    assertEquals(WITHIN, row(2));
    bounds.stageEnded(APP, STAGE);
    bounds.stageEnded(APP, STAGE);
    bounds.stageEnded("unknown application", STAGE);
    assertEquals(UNKNOWN, row(3));
    assertTrue(bounds.runsNoPython("another application", STAGE, EPOCH));
  }

  @Test
  void stageWithoutBoundsIsUnknown() {
    assertEquals(UNKNOWN, row(2));

    publish(APP, "stage/3/1", EPOCH, 1);
    publish("another application", STAGE, EPOCH, 1);

    assertEquals(UNKNOWN, row(2));
  }

  @Test
  void stageRunsNoPythonOnceItsBoundsSaySo() {
    assertFalse(bounds.runsNoPython(APP, STAGE, EPOCH));

    publish(1);

    assertFalse(bounds.runsNoPython(APP, STAGE, EPOCH));

    publish(APP, STAGE, EPOCH, 2, 0);

    assertTrue(bounds.runsNoPython(APP, STAGE, EPOCH));
    assertFalse(bounds.runsNoPython(APP, STAGE, EPOCH + 1));
    assertFalse(bounds.runsNoPython(APP, "stage/3/1", EPOCH));

    bounds.applicationChanged(APP, EPOCH, 3);

    assertTrue(bounds.runsNoPython(APP, STAGE, EPOCH));

    bounds.stageChanged(APP, STAGE, EPOCH, 4);

    assertFalse(bounds.runsNoPython(APP, STAGE, EPOCH));
  }

  /** After a restart, rows are read again that are older than the bounds; Python needs them. */
  @Test
  void boundsHoldForLaterRowsOfTheSameEpochOnly() {
    publish(5);
    publish(3);

    assertEquals(UNKNOWN, row(4));
    assertEquals(UNKNOWN, row(5));
    assertEquals(WITHIN, row(6));

    publish(APP, STAGE, EPOCH + 1, 1);

    assertEquals(UNKNOWN, row(6));
  }

  @Test
  void boundsThatDoNotConsiderAChangeNoLongerHold() {
    publish(5);
    bounds.applicationChanged(APP, EPOCH, 6);
    bounds.stageChanged(APP, STAGE, EPOCH, 8);
    bounds.applicationChanged(APP, EPOCH, 2);

    assertEquals(UNKNOWN, row(9));

    publish(7);

    assertEquals(UNKNOWN, row(9));

    publish(8);

    assertEquals(WITHIN, row(9));
  }

  @Test
  void changeBeforeTheFirstBoundsIsConsidered() {
    bounds.stageChanged(APP, STAGE, EPOCH, 6);
    publish(5);

    assertEquals(UNKNOWN, row(7));
  }

  @Test
  void boundsAreComputedAgainAfterTwoMinutes() {
    publish(1);
    nowNs += StageBounds.REFRESH.toNanos() - 1;

    assertEquals(WITHIN, row(2));

    nowNs += 1;

    assertEquals(UNKNOWN, row(2));
    assertEquals(EXCEEDED, row(2, 80, 60_001, 0));
  }

  /** A rule may have matched on a row that passed before its stage had bounds. */
  @Test
  void rowsPassForTheLingerTimeAfterAnUncheckedRowOutsideTheBounds() {
    assertEquals(UNKNOWN, row(1, 0, 5_000, 400_001));
    assertEquals(UNKNOWN, row(2, 0, 10_000, 0));

    publish(1);

    assertEquals(UNKNOWN, row(3));
    assertEquals(UNKNOWN, row(8));
    assertEquals(WITHIN, row(9));
  }

  @Test
  void uncheckedRowsWithinTheBoundsDoNotMatter() {
    assertEquals(UNKNOWN, row(1));

    publish(1);

    assertEquals(WITHIN, row(2));
  }

  @Test
  void memoryIsLimited() {
    for (int number = 0; number < 2_000; number++) {
      publish("application-" + number, STAGE, EPOCH, 1);
    }
    publish(1);

    assertEquals(WITHIN, row(2));
    StageBounds.Measures measures = new StageBounds.Measures(EPOCH, 2, WINDOW_MS, 0, 0, 0);
    assertEquals(UNKNOWN, bounds.check("application-0", STAGE, measures, LINGER_MS));
    assertEquals(WITHIN, bounds.check("application-1999", STAGE, measures, LINGER_MS));
  }

  @Test
  void endOfTheApplicationFreesItsBounds() {
    publish(1);
    bounds.applicationEnded(APP);

    assertEquals(UNKNOWN, row(2));
  }

  @Test
  void eachRunOfTheJobHasItsOwnBounds() {
    assertSame(StageBounds.of("run"), StageBounds.of("run"));
    assertNotSame(StageBounds.of("run"), StageBounds.of("another run"));
  }
}
