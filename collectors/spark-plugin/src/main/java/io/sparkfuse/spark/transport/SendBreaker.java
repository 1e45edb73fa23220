package io.sparkfuse.spark.transport;

import io.sparkfuse.spark.safety.PluginLog;

/**
 * Keeps the sender from knocking at a broker that is away.
 *
 * <p>After failing for {@link #PATIENCE_MS} it is open for {@link #PAUSE_MS}, then lets one record
 * try. A time and not a number of failures, because the first connection may take longer than one
 * try is allowed to.
 */
final class SendBreaker {
  static final long PATIENCE_MS = 3_000;
  static final long PAUSE_MS = 5_000;

  private static final long NEVER = -1;
  private long failingSinceMs = NEVER;
  private long openUntilMs = NEVER;
  private volatile String state = "closed";

  /** Whether a record may be tried now. */
  boolean allows(long nowMs) {
    if (!state.equals("open")) {
      return true;
    }
    if (nowMs < openUntilMs) {
      return false;
    }
    state = "half-open";
    return true;
  }

  void succeeded() {
    failingSinceMs = NEVER;
    state = "closed";
  }

  void failed(long nowMs) {
    if (failingSinceMs == NEVER) {
      failingSinceMs = nowMs;
    }
    if (state.equals("half-open") || nowMs - failingSinceMs >= PATIENCE_MS) {
      openUntilMs = nowMs + PAUSE_MS;
      state = "open";
      PluginLog.trouble("Kafka takes no records; they wait, and are dropped without room", null);
    }
  }

  /** closed, open or half-open. */
  String state() {
    return state;
  }
}
