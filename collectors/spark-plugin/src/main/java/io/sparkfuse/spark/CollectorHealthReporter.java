package io.sparkfuse.spark;

import io.sparkfuse.contracts.CollectorHealth;
import io.sparkfuse.contracts.Fact;
import io.sparkfuse.spark.facts.Lane;
import io.sparkfuse.spark.listener.CallbackTimes;
import io.sparkfuse.spark.listener.DroppedEvents;
import io.sparkfuse.spark.listener.SparkfuseListener;
import io.sparkfuse.spark.safety.CollectorProtection;
import io.sparkfuse.spark.safety.FaultCounter;
import io.sparkfuse.spark.transport.FactQueue;
import io.sparkfuse.spark.transport.QueuedRecord;
import io.sparkfuse.spark.transport.Sender;

/** Creates the facts about the health of the driver's collector. */
final class CollectorHealthReporter {
  private static final String CLOSED = "closed";

  private final FactQueue queue;
  private final CollectorProtection protection;
  private final SparkfuseListener listener;
  private final DroppedEvents droppedEvents;
  private final FaultCounter faults;

  CollectorHealthReporter(
      FactQueue queue,
      CollectorProtection protection,
      SparkfuseListener listener,
      DroppedEvents droppedEvents,
      FaultCounter faults) {
    this.queue = queue;
    this.protection = protection;
    this.listener = listener;
    this.droppedEvents = droppedEvents;
    this.faults = faults;
  }

  /** Returns a health fact in the reserved lane, whose facts are dropped last. */
  QueuedRecord now(Sender sender, long senderFaults) {
    CallbackTimes times = listener.times();
    CollectorHealth.Builder health =
        CollectorHealth.newBuilder()
            .setQueued(sender.waiting())
            .setQueuedBytes(sender.waitingBytes())
            .setDroppedBulk(queue.dropped(Lane.BULK))
            .setDroppedReserved(queue.dropped(Lane.RESERVED))
            .setAcknowledged(sender.routes().acknowledged())
            .setSendErrors(sender.routes().failed())
            .setFaults(faults.count() + senderFaults)
            .setPassedOver(queue.skipped())
            .setCutFacts(sender.cutFacts() + listener.forgottenExecutions())
            .setCallbackP99Ns(times.quantile(0.99))
            .setCallbackP999Ns(times.quantile(0.999))
            .setCallbackMaxNs(times.longest());
    if (sender.routes().hasFallback()) {
      health
          .setOnFallback(sender.routes().onFallback())
          .setFallbackAcknowledged(sender.routes().fallbackAcknowledged())
          .setResent(sender.routes().resent());
    }
    reportProtection(health, sender.routes().backoffState());
    long droppedBySpark = droppedEvents.count();
    if (droppedBySpark >= 0) {
      health.setSparkDroppedEvents(droppedBySpark);
    }
    Fact.Builder fact =
        Fact.newBuilder().setEventTimeMs(System.currentTimeMillis()).setCollectorHealth(health);
    return QueuedRecord.fact(Lane.RESERVED, fact, health.buildPartial().getSerializedSize());
  }

  private void reportProtection(CollectorHealth.Builder health, String sending) {
    if (!faults.on()) {
      health.setProtection("open").setProtectionReason("faults");
    } else if (!protection.state().equals(CLOSED)) {
      health.setProtection(protection.state()).setProtectionReason(protection.reason());
    } else if (!sending.equals(CLOSED)) {
      health.setProtection(sending).setProtectionReason("send errors");
    } else {
      health.setProtection(CLOSED);
    }
  }
}
