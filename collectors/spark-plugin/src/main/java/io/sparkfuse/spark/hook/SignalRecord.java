package io.sparkfuse.spark.hook;

/** One record of the topic {@code signals}. */
final class SignalRecord {
  final String key;
  final String value;

  /** Timestamp of the record: the broker's time if {@link #appended}, else the writer's. */
  final long timestampMs;

  /** Whether the broker set the timestamp (LogAppendTime). */
  final boolean appended;

  SignalRecord(String key, String value, long timestampMs, boolean appended) {
    this.key = key;
    this.value = value;
    this.timestampMs = timestampMs;
    this.appended = appended;
  }
}
