package io.sparkfuse.spark.transport;

import io.sparkfuse.spark.safety.PluginLog;

/**
 * Keeps the sender from knocking at a broker that is away or refuses everything; what it is not
 * allowed to send waits.
 *
 * <p>It opens when the client took nothing for {@link #PATIENCE_MS} (a time and not a number,
 * because the first connection may take longer than one try), when {@link #MAX_FAILURES} records in
 * a row failed, or when nothing was acknowledged for {@link #SILENCE_MS} while records were under
 * way. After {@link #PAUSE_MS} it is half-open: one record goes, and its fate decides.
 */
final class SendBackoff {
  static final long PATIENCE_MS = 3_000;
  static final long PAUSE_MS = 5_000;
  static final long SILENCE_MS = 15_000;
  static final long MAX_FAILURES = 100;

  private enum State {
    CLOSED,
    OPEN,
    HALF_OPEN
  }

  private static final long NEVER = -1;
  private final DeliveryCounters deliveries;
  private volatile State state = State.CLOSED;
  private long failingSinceMs = NEVER;
  private long openUntilMs = NEVER;
  private long acknowledged;
  private long acknowledgedMs = NEVER;
  private long failedBefore;
  private boolean probing;

  SendBackoff(DeliveryCounters deliveries) {
    this.deliveries = deliveries;
  }

  /** Whether a record may be tried now; times are of a clock that never goes back. */
  boolean allows(long nowMs) {
    listen(nowMs);
    switch (state) {
      case CLOSED:
        return true;
      case OPEN:
        if (nowMs < openUntilMs) {
          return false;
        }
        state = State.HALF_OPEN;
        probing = false;
        failedBefore = deliveries.failed();
        return true;
      default:
        return !probing;
    }
  }

  /** The client took a record. */
  void took() {
    failingSinceMs = NEVER;
    if (state == State.HALF_OPEN) {
      probing = true;
    }
  }

  /** The client took nothing. */
  void refused(long nowMs) {
    if (failingSinceMs == NEVER) {
      failingSinceMs = nowMs;
    }
    if (state == State.HALF_OPEN || nowMs - failingSinceMs >= PATIENCE_MS) {
      open(nowMs);
    }
  }

  /** Looks what became of the records that are under way. */
  private void listen(long nowMs) {
    if (deliveries.acknowledged() != acknowledged || deliveries.open() == 0) {
      boolean heard = deliveries.acknowledged() != acknowledged;
      acknowledged = deliveries.acknowledged();
      acknowledgedMs = nowMs;
      if (heard && state != State.CLOSED) {
        state = State.CLOSED;
        failingSinceMs = NEVER;
        PluginLog.info("Sparkfuse: Kafka takes records again");
      }
    }
    if (state == State.CLOSED && badlyOff(nowMs)) {
      open(nowMs);
    } else if (state == State.HALF_OPEN && probing && deliveries.failed() != failedBefore) {
      open(nowMs);
    }
  }

  private boolean badlyOff(long nowMs) {
    return deliveries.failedInARow() >= MAX_FAILURES || nowMs - acknowledgedMs >= SILENCE_MS;
  }

  private void open(long nowMs) {
    openUntilMs = nowMs + PAUSE_MS;
    state = State.OPEN;
    PluginLog.trouble("Kafka takes no records; they wait, and are dropped without room", null);
  }

  /** Whether records may go as they come. */
  boolean closed() {
    return state == State.CLOSED;
  }

  /** closed, open or half-open. */
  String state() {
    return state.name().toLowerCase(java.util.Locale.ROOT).replace('_', '-');
  }
}
