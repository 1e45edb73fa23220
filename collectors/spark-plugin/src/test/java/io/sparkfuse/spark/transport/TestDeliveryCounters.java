package io.sparkfuse.spark.transport;

/** Lets tests of other packages say what became of a record. */
public final class TestDeliveryCounters {
  private TestDeliveryCounters() {}

  public static void acknowledge(DeliveryCounters deliveries) {
    deliveries.acceptedOne();
    deliveries.acknowledgedOne();
  }
}
