package io.sparkfuse.spark.safety;

/**
 * Measures how long something lasts, by a clock that does not jump.
 *
 * <p>The machine's time is set now and then, by hours after a pause of a virtual machine. It says
 * when something was; taken for a duration it would make every running task one that hangs.
 */
public final class SteadyClock {
  private SteadyClock() {}

  /** Milliseconds since some moment that is the same for all of this JVM; never go back. */
  public static long ms() {
    return System.nanoTime() / 1_000_000;
  }
}
