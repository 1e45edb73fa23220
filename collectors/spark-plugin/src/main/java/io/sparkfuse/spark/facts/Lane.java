package io.sparkfuse.spark.facts;

import java.util.Locale;

/** The two bounded queues of a collector. */
public enum Lane {
  /** Starts of tasks, progress and samples: many, each worth little. */
  BULK,
  /**
   * TestTaskFacts of tasks, failures, and starts and ends of what is few: room that the others
   * can't take.
   */
  RESERVED;

  /** The name in the envelope. */
  public String text() {
    return name().toLowerCase(Locale.ROOT);
  }
}
