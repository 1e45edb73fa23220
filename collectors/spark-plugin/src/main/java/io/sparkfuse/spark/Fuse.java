package io.sparkfuse.spark;

import io.sparkfuse.spark.blocks.BlockLimits;
import io.sparkfuse.spark.hook.FuseState;
import io.sparkfuse.spark.settings.PluginSettings.FuseMode;

/**
 * The fuse for job code in this JVM; PySpark uses it through {@code sparkfuse.CircuitBreaker}, Java
 * and Scala through {@link io.sparkfuse.spark.api.CircuitBreaker}.
 */
public final class Fuse {
  private static volatile FuseState state = new FuseState(FuseMode.OFF, false);
  private static volatile BlockLimits limits;

  private Fuse() {}

  /** Replaces the state of the fuse, because each application in this JVM has its own state. */
  static void install(FuseState now, BlockLimits blocks) {
    state = now;
    limits = blocks;
  }

  /** Returns the limits of blocks; null if there is no plugin or if {@code fuse=off}. */
  public static BlockLimits limits() {
    return limits;
  }

  /**
   * Returns the state as JSON: {@code mode} (off, warn, act), {@code hold}, {@code watching},
   * {@code state} (open, closed), {@code events}. Never throws.
   */
  public static String state() {
    return state.toJson();
  }

  /**
   * Closes an open fuse; job code calls this method after it has handled the problem. Never throws.
   */
  public static void reset() {
    state.reset();
  }

  /** Sets or removes the hold; while the hold is set, no work of this application is stopped. */
  public static void hold(boolean holds) {
    state.setHold(holds);
  }
}
