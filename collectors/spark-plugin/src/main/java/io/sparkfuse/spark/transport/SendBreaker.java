package io.sparkfuse.spark.transport;

/**
 * Keeps the sender from knocking at a broker that is away.
 *
 * <p>After {@link #MOST_FAILURES} failures in a row it is open for {@link #PAUSE_MS}, then lets one
 * record try.
 */
final class SendBreaker {
  static final int MOST_FAILURES = 3;
  static final long PAUSE_MS = 5_000;

  private int failures;
  private long openUntilMs;
  private volatile String state = "closed";

  /** Whether a record may be tried now. */
  boolean allows(long nowMs) {
    if (failures < MOST_FAILURES) {
      return true;
    }
    if (nowMs < openUntilMs) {
      return false;
    }
    state = "half-open";
    return true;
  }

  void succeeded() {
    failures = 0;
    state = "closed";
  }

  void failed(long nowMs) {
    failures++;
    if (failures >= MOST_FAILURES) {
      openUntilMs = nowMs + PAUSE_MS;
      state = "open";
    }
  }

  /** closed, open or half-open. */
  String state() {
    return state;
  }
}
