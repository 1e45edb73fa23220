package io.sparkfuse.spark.transport;

/** Lets tests of other packages report the result of a record. */
public final class TestDeliveryCounters {
  private TestDeliveryCounters() {}

  public static void acknowledge(DeliveryCounters deliveries) {
    deliveries.acceptedOne();
    deliveries.acknowledgedOne();
  }
}
