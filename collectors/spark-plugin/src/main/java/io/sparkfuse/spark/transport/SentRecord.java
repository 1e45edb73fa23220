package io.sparkfuse.spark.transport;

/** A record that a client accepted and that the broker has not acknowledged yet. */
public final class SentRecord {
  final String topic;
  final byte[] value;

  /** Creates a record; {@code topic} has no prefix. */
  public SentRecord(String topic, byte[] value) {
    this.topic = topic;
    this.value = value;
  }

  /** Returns the approximate memory in bytes. */
  long bytes() {
    return QueuedRecord.READY_BYTES + value.length;
  }
}
