package io.sparkfuse.spark.hook;

import java.util.function.LongSupplier;

/** Everything outside the hook that the hook uses. */
final class HookEdge {
  final Clock clock;

  /** The driver's time of day, for receipts only. */
  final LongSupplier wallMs;

  final Controls controls;
  final Counters counters;
  final Actuator actuator;
  final ReceiptWriter receipts;

  HookEdge(
      Clock clock,
      LongSupplier wallMs,
      Controls controls,
      Counters counters,
      Actuator actuator,
      ReceiptWriter receipts) {
    this.clock = clock;
    this.wallMs = wallMs;
    this.controls = controls;
    this.counters = counters;
    this.actuator = actuator;
    this.receipts = receipts;
  }
}
