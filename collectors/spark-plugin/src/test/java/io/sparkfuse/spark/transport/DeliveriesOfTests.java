package io.sparkfuse.spark.transport;

/** Lets tests of other packages say what became of a record. */
public final class DeliveriesOfTests {
  private DeliveriesOfTests() {}

  public static void acknowledge(Deliveries deliveries) {
    deliveries.tookOne();
    deliveries.acknowledgedOne();
  }
}
