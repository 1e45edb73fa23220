package io.sparkfuse.spark.facts;

import java.util.Locale;

/** The two lanes of a collector, each with limited space. */
public enum Lane {
  /** Task starts, progress and samples: numerous, and each of little value. */
  BULK,
  /**
   * Task ends, failures, and infrequent starts and ends; bulk facts cannot use the space of this
   * lane.
   */
  RESERVED;

  /** Returns the name in the envelope of a fact. */
  public String text() {
    return name().toLowerCase(Locale.ROOT);
  }
}
