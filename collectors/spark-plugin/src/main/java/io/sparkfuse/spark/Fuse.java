package io.sparkfuse.spark;

import io.sparkfuse.spark.hook.FuseState;
import io.sparkfuse.spark.settings.PluginSettings.FuseMode;

/**
 * The fuse as job code in this JVM sees it; PySpark reaches it by {@code sparkfuse.CircuitBreaker}.
 * Never throws.
 */
public final class Fuse {
  private static volatile FuseState state = new FuseState(FuseMode.OFF, false);

  private Fuse() {}

  /** A new application in this JVM has a state of its own. */
  static void install(FuseState now) {
    state = now;
  }

  /**
   * State as JSON: {@code mode} (off, warn, act), {@code hold}, {@code watching}, {@code state}
   * (open, closed), {@code events}.
   */
  public static String state() {
    return state.toJson();
  }

  /** Closes an open fuse, after job code has dealt with it. */
  public static void reset() {
    state.reset();
  }

  /** Nothing of this application is stopped while it holds. */
  public static void hold(boolean holds) {
    state.setHold(holds);
  }
}
