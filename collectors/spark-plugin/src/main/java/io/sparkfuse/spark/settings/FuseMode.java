package io.sparkfuse.spark.settings;

/** How far the fuse may go with this job. */
public enum FuseMode {
  /** No signal is read. */
  OFF,
  /** Signals are shown to log and job code, nothing is stopped. */
  WARN,
  /** The owner agreed that a valid signal may stop what runs. */
  ACT;

  /** The name in configuration and receipts. */
  public String text() {
    return name().toLowerCase(java.util.Locale.ROOT);
  }
}
