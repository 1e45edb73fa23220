package io.sparkfuse.spark.hook;

/** Writes receipts. Called by the hook's thread only. */
interface ReceiptWriter {
  /** The broker's time is not known. */
  long UNKNOWN = -1;

  /**
   * Writes a receipt and waits for the broker's acknowledgement, for at most {@code limitMs}.
   *
   * @return the time at which the broker appended the receipt, in ms since 1970, or {@link
   *     #UNKNOWN}
   */
  long writeAndWait(String json, long limitMs);

  /** Writes a receipt without waiting; it is sent as soon as the broker is reachable. */
  void write(String json);
}
