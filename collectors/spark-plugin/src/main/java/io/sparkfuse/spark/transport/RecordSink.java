package io.sparkfuse.spark.transport;

import java.util.Collections;
import java.util.List;

/** Destination of records. Called by the sender's thread only. */
public interface RecordSink {
  /**
   * Hands one record to the client; blocks for a fraction of a second at most.
   *
   * @return false if the record was not accepted and can be tried again
   */
  boolean send(String topic, String key, byte[] value);

  /** Returns whether the sink still works; once false, it stays false. */
  default boolean alive() {
    return true;
  }

  /**
   * Takes back all records without an acknowledgement, oldest first; the sink must then be closed.
   * Returns an empty list if the sink has no copies.
   */
  default List<SentRecord> withdraw() {
    return Collections.emptyList();
  }

  /** Sends the records that were handed over, for at most {@code budgetMs}, and drops the rest. */
  void close(long budgetMs);

  /** Opens a sink when the first record arrives, because the constructor of a client can block. */
  interface Factory {
    RecordSink open(DeliveryCounters deliveries) throws Exception;

    /** Returns the addresses of the brokers, for the log. */
    default String brokers() {
      return "unknown brokers";
    }
  }
}
