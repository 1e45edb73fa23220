package io.sparkfuse.spark.safety;

import java.util.concurrent.atomic.AtomicLong;

/**
 * Counts what was thrown inside the plugin and switches a part of it off after too much of it.
 *
 * <p>An {@code Error} that leaves a listener stops the user's SparkContext, so every entry catches
 * Throwable and tells it to this class.
 */
public final class Faults {
  /** After so many faults the part is switched off: it would only go on failing. */
  public static final long MOST = 1_000;

  private final String part;
  private final long most;
  private final AtomicLong count = new AtomicLong();

  public Faults(String part) {
    this(part, MOST);
  }

  public Faults(String part, long most) {
    this.part = part;
    this.most = most;
  }

  /** Counts one fault; never throws, not even when memory is out. */
  public void caught(Throwable fault) {
    try {
      long now = count.incrementAndGet();
      if (now == most) {
        PluginLog.warn("Sparkfuse: " + part + " is switched off after " + now + " faults");
      } else {
        PluginLog.trouble(part + " fault", fault);
      }
    } catch (Throwable ignored) { // nothing is left that could be done about it
    }
  }

  /** Whether the part may go on. */
  public boolean on() {
    return count.get() < most;
  }

  /** Faults so far. */
  public long count() {
    return count.get();
  }
}
