package io.sparkfuse.spark;

import io.sparkfuse.contracts.CollectorHealth;
import io.sparkfuse.contracts.Fact;
import io.sparkfuse.spark.listener.CallbackTimes;
import io.sparkfuse.spark.listener.DroppedEvents;
import io.sparkfuse.spark.listener.SparkfuseListener;
import io.sparkfuse.spark.safety.CollectorBreaker;
import io.sparkfuse.spark.safety.Faults;
import io.sparkfuse.spark.transport.FactQueue;
import io.sparkfuse.spark.transport.Lane;
import io.sparkfuse.spark.transport.Outgoing;
import io.sparkfuse.spark.transport.Sender;

/** Tells how the driver's collector stands, as a fact. */
final class CollectorState {
  private static final String CLOSED = "closed";

  private final FactQueue queue;
  private final CollectorBreaker breaker;
  private final SparkfuseListener listener;
  private final DroppedEvents droppedEvents;
  private final Faults faults;

  CollectorState(
      FactQueue queue,
      CollectorBreaker breaker,
      SparkfuseListener listener,
      DroppedEvents droppedEvents,
      Faults faults) {
    this.queue = queue;
    this.breaker = breaker;
    this.listener = listener;
    this.droppedEvents = droppedEvents;
    this.faults = faults;
  }

  /** The fact to be sent now, on the lane that is dropped last. */
  Outgoing now(Sender sender, long senderFaults) {
    CallbackTimes times = listener.times();
    CollectorHealth.Builder health =
        CollectorHealth.newBuilder()
            .setQueued(sender.waiting())
            .setQueuedBytes(sender.waitingBytes())
            .setDroppedBulk(queue.dropped(Lane.BULK))
            .setDroppedReserved(queue.dropped(Lane.RESERVED))
            .setAcknowledged(sender.deliveries().acknowledged())
            .setSendErrors(sender.deliveries().failed())
            .setFaults(faults.count() + senderFaults)
            .setPassedOver(queue.passedOver())
            .setCutFacts(sender.cutFacts() + listener.forgottenExecutions())
            .setCallbackP99Ns(times.quantile(0.99))
            .setCallbackP999Ns(times.quantile(0.999))
            .setCallbackMaxNs(times.longest());
    tellBreaker(health, sender.breakerState());
    long droppedBySpark = droppedEvents.count();
    if (droppedBySpark >= 0) {
      health.setSparkDroppedEvents(droppedBySpark);
    }
    Fact.Builder fact =
        Fact.newBuilder().setEventTimeMs(System.currentTimeMillis()).setCollectorHealth(health);
    return Outgoing.fact(Lane.RESERVED, fact, health.buildPartial().getSerializedSize());
  }

  private void tellBreaker(CollectorHealth.Builder health, String sending) {
    if (!faults.on()) {
      health.setBreaker("open").setBreakerReason("faults");
    } else if (!breaker.state().equals(CLOSED)) {
      health.setBreaker(breaker.state()).setBreakerReason(breaker.reason());
    } else if (!sending.equals(CLOSED)) {
      health.setBreaker(sending).setBreakerReason("send errors");
    } else {
      health.setBreaker(CLOSED);
    }
  }
}
