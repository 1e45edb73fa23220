package io.sparkfuse.spark;

import io.sparkfuse.spark.hook.FuseState;
import io.sparkfuse.spark.settings.PluginSettings.FuseMode;

/**
 * The fuse for job code in this JVM; PySpark uses it through {@code sparkfuse.CircuitBreaker}.
 * Never throws.
 */
public final class Fuse {
  private static volatile FuseState state = new FuseState(FuseMode.OFF, false);

  private Fuse() {}

  /** Replaces the state; each application in this JVM has its own. */
  static void install(FuseState now) {
    state = now;
  }

  /**
   * Returns the state as JSON: {@code mode} (off, warn, act), {@code hold}, {@code watching},
   * {@code state} (open, closed), {@code events}.
   */
  public static String state() {
    return state.toJson();
  }

  /** Closes an open fuse, after job code has handled the problem. */
  public static void reset() {
    state.reset();
  }

  /** Sets or removes the hold; with a hold nothing of this application is stopped. */
  public static void hold(boolean holds) {
    state.setHold(holds);
  }
}
