package io.sparkfuse.spark.transport;

/** Lets tests in other packages report whether a record was delivered. */
public final class TestDeliveryCounters {
  private TestDeliveryCounters() {}

  public static void acknowledge(DeliveryCounters deliveries) {
    deliveries.acceptedOne();
    deliveries.acknowledgedOne();
  }
}
