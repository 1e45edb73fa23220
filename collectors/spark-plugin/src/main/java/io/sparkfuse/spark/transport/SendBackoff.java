package io.sparkfuse.spark.transport;

/**
 * Pauses the sender while the broker is away or refuses everything; records wait meanwhile.
 *
 * <p>The backoff opens if the client accepted nothing for {@link #PATIENCE_MS}, if {@link
 * #MAX_FAILURES} records in a row failed, or if nothing was acknowledged for {@link #SILENCE_MS}
 * while records were pending. The first of these limits is a time and not a number of tries,
 * because the first connection can take longer than one try. After {@link #PAUSE_MS} the backoff is
 * half-open: one record is sent; if it succeeds, the backoff closes, else it opens again. A record
 * without an acknowledgement after {@link #SILENCE_MS} has not succeeded.
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
  private long probedMs;
  private long setbacksBefore;
  private boolean probing;

  SendBackoff(DeliveryCounters deliveries) {
    this.deliveries = deliveries;
  }

  /** Returns whether a record may be sent now; {@code nowMs} is a monotonic time. */
  boolean allows(long nowMs) {
    updateState(nowMs);
    switch (state) {
      case CLOSED:
        return true;
      case OPEN:
        if (nowMs < openUntilMs) {
          return false;
        }
        state = State.HALF_OPEN;
        beforeProbe(nowMs);
        return true;
      default:
        if (!probing) {
          beforeProbe(nowMs);
        }
        return !probing;
    }
  }

  /** Reports that the client accepted a record. */
  void accepted() {
    failingSinceMs = NEVER;
    if (state == State.HALF_OPEN) {
      probing = true;
    }
  }

  /** Reports that the client did not accept a record. */
  void rejected(long nowMs) {
    if (failingSinceMs == NEVER) {
      failingSinceMs = nowMs;
    }
    if (state == State.HALF_OPEN || nowMs - failingSinceMs >= PATIENCE_MS) {
      open(nowMs);
    }
  }

  /** Updates the state from the results of pending records. */
  private void updateState(long nowMs) {
    if (deliveries.acknowledged() != acknowledged || deliveries.pending() == 0) {
      boolean acknowledgedNow = deliveries.acknowledged() != acknowledged;
      acknowledged = deliveries.acknowledged();
      acknowledgedMs = nowMs;
      if (acknowledgedNow && state != State.CLOSED) {
        state = State.CLOSED;
        failingSinceMs = NEVER;
      }
    }
    if (state == State.CLOSED && isUnhealthy(nowMs)) {
      open(nowMs);
    } else if (state == State.HALF_OPEN && probing && hasProbeFailed(nowMs)) {
      open(nowMs);
    }
  }

  private boolean isUnhealthy(long nowMs) {
    return deliveries.failedInARow() >= MAX_FAILURES || nowMs - acknowledgedMs >= SILENCE_MS;
  }

  private void beforeProbe(long nowMs) {
    probing = false;
    probedMs = nowMs;
    setbacksBefore = deliveries.setbacks();
  }

  private boolean hasProbeFailed(long nowMs) {
    return deliveries.setbacks() != setbacksBefore || nowMs - probedMs >= SILENCE_MS;
  }

  /** Stops sending for {@link #PAUSE_MS}. */
  void open(long nowMs) {
    openUntilMs = nowMs + PAUSE_MS;
    state = State.OPEN;
  }

  /** Returns whether no record may be sent. */
  boolean isOpen() {
    return state == State.OPEN;
  }

  /** Returns whether records may be sent without restriction. */
  boolean closed() {
    return state == State.CLOSED;
  }

  /** Returns closed, open or half-open. */
  String state() {
    return state.name().toLowerCase(java.util.Locale.ROOT).replace('_', '-');
  }
}
