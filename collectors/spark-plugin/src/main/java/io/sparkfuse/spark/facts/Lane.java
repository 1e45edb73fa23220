package io.sparkfuse.spark.facts;

import java.util.Locale;

/** The two bounded lanes of a collector. */
public enum Lane {
  /** Task starts, progress and samples: numerous, and each of little value. */
  BULK,
  /** Task ends, failures, and infrequent starts and ends; the bulk lane cannot use its space. */
  RESERVED;

  /** Returns the name in the envelope of a fact. */
  public String text() {
    return name().toLowerCase(Locale.ROOT);
  }
}
