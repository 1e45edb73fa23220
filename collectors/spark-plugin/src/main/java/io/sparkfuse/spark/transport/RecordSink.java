package io.sparkfuse.spark.transport;

/** Where records go. Called by the sender's thread only. */
public interface RecordSink {
  /**
   * Hands one record over; may block for a fraction of a second, never longer.
   *
   * @return false when it was not taken and may be tried again
   */
  boolean send(String topic, String key, byte[] value);

  /** Whether it can still bring anything out; false is for good. */
  default boolean alive() {
    return true;
  }

  /** Brings out what was handed over, for at most {@code budgetMs}, and gives up the rest. */
  void close(long budgetMs);

  /** Makes a sink when the first record is there, because a client's constructor may block. */
  interface Factory {
    RecordSink open(DeliveryCounters deliveries) throws Exception;
  }
}
