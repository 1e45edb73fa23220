package io.sparkfuse.spark.transport;

import java.util.Locale;

/** The two bounded queues of a collector. */
public enum Lane {
  /** Starts of tasks, ends that went well, progress and samples: many, each worth little. */
  BULK,
  /** Starts and ends of what is few, and failures: room that no flood of the others can take. */
  RESERVED;

  /** The name in the envelope. */
  public String text() {
    return name().toLowerCase(Locale.ROOT);
  }
}
