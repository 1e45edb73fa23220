package io.sparkfuse.spark.hook;

/** A number of uses that renews steadily: a burst at once, and then so many a second. */
final class RateLimit {
  private final long burst;
  private final long perSecond;
  private final Clock clock;
  private double left;
  private long renewedMs;

  RateLimit(long burst, long perSecond, Clock clock) {
    this.burst = burst;
    this.perSecond = perSecond;
    this.clock = clock;
    this.left = burst;
    this.renewedMs = clock.ms();
  }

  /** Uses one of them. Returns false if none is left. */
  boolean take() {
    long nowMs = clock.ms();
    left = Math.min(burst, left + (nowMs - renewedMs) * perSecond / 1_000.0);
    renewedMs = nowMs;
    if (left < 1) {
      return false;
    }
    left--;
    return true;
  }
}
