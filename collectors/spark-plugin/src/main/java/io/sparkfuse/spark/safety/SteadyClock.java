package io.sparkfuse.spark.safety;

/**
 * A monotonic clock for durations.
 *
 * <p>The system time can change by hours, for example after a virtual machine was paused. If
 * durations were measured with the system time, every running task would appear to hang after such
 * a change.
 */
public final class SteadyClock {
  private SteadyClock() {}

  /** Returns milliseconds since an arbitrary time; the result never decreases. */
  public static long ms() {
    return System.nanoTime() / 1_000_000;
  }
}
