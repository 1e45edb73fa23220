package io.sparkfuse.spark;

import com.google.protobuf.InvalidProtocolBufferException;
import io.sparkfuse.contracts.CollectorHealth;
import io.sparkfuse.contracts.Fact;
import io.sparkfuse.spark.counters.StageBook;
import io.sparkfuse.spark.facts.Application;
import io.sparkfuse.spark.hook.FuseState;
import io.sparkfuse.spark.hook.SignalWatch;
import io.sparkfuse.spark.listener.DroppedEvents;
import io.sparkfuse.spark.listener.SparkfuseListener;
import io.sparkfuse.spark.safety.Faults;
import io.sparkfuse.spark.safety.PluginLog;
import io.sparkfuse.spark.safety.QuietKafka;
import io.sparkfuse.spark.settings.FuseMode;
import io.sparkfuse.spark.settings.PluginSettings;
import io.sparkfuse.spark.transport.FactQueue;
import io.sparkfuse.spark.transport.KafkaRecordSink;
import io.sparkfuse.spark.transport.Lane;
import io.sparkfuse.spark.transport.Outgoing;
import io.sparkfuse.spark.transport.Sender;
import java.util.Collections;
import java.util.Map;
import java.util.UUID;
import org.apache.spark.SparkContext;
import org.apache.spark.api.plugin.DriverPlugin;
import org.apache.spark.api.plugin.PluginContext;

/** The plugin in the driver: listener, sender, hook, and the ear for its executors. */
final class DriverSide implements DriverPlugin {
  /** All of it must be over by then when the application stops. */
  private static final long SHUTDOWN_MS = 2_000;

  private final Faults faults = new Faults("the driver's plugin");
  private final StageBook book = new StageBook();
  private final String collector = "driver-" + UUID.randomUUID().toString().substring(0, 8);
  private SparkContext context;
  private PluginSettings settings;
  private FactQueue queue;
  private SparkfuseListener listener;
  private Sender sender;
  private FuseState fuse;
  private SignalWatch watch;
  private DroppedEvents droppedEvents;
  private volatile Application application;

  @Override
  public Map<String, String> init(SparkContext sparkContext, PluginContext pluginContext) {
    try {
      open(sparkContext);
    } catch (Throwable fault) { // the job starts all the same, unwatched
      faults.caught(fault);
    }
    return Collections.emptyMap();
  }

  private void open(SparkContext sparkContext) {
    context = sparkContext;
    settings = PluginSettings.of(context.conf());
    if (!settings.enabled) {
      return;
    }
    PluginSettings.warnOfUnknownKeys(context.conf());
    QuietKafka.hush();
    fuse = new FuseState(settings.fuse, settings.fuseHold);
    Fuse.install(fuse);
    droppedEvents = new DroppedEvents(context);
    queue = new FactQueue(settings.queueFacts, settings.queueBytes, settings.queueReserved);
    listener =
        new SparkfuseListener(
            context.conf(), this::record, book, faults, SparkfusePlugin.version());
    listen();
    sender =
        new Sender(
            queue,
            KafkaRecordSink.factory(settings, collector),
            () -> application,
            collector,
            settings.healthIntervalMs,
            faults);
    sender.start(this::health);
  }

  private void listen() {
    try {
      context.listenerBus().addToQueue(listener, SparkfuseListener.QUEUE);
    } catch (Throwable noQueue) { // not public API: the shared queue is
      PluginLog.trouble("no listener queue of its own", noQueue);
      context.addSparkListener(listener);
    }
  }

  private void record(Lane lane, Fact.Builder fact) {
    queue.offer(Outgoing.fact(lane, fact, fact.buildPartial().getSerializedSize()));
  }

  /** Spark calls this when it knows the application's id and attempt. */
  @Override
  public void registerMetrics(String appId, PluginContext pluginContext) {
    try {
      if (sender == null) {
        return;
      }
      Object attempt = context.applicationAttemptId().getOrElse(() -> null);
      application =
          new Application(
              settings.cluster,
              settings.tenant,
              appId,
              Application.attemptNumber((String) attempt),
              context.startTime());
      if (settings.fuse != FuseMode.OFF) {
        watch = SignalWatch.start(settings, application, fuse, book, context, queue, faults);
      }
    } catch (Throwable fault) {
      faults.caught(fault);
    }
  }

  /** Takes facts that an executor made; the answer tells it whose it is. */
  @Override
  public Object receive(Object message) {
    try {
      if (sender != null && message instanceof byte[][]) {
        for (byte[] fact : (byte[][]) message) {
          queue.offer(Outgoing.forwarded(fact));
          note(fact);
        }
      }
      Application known = application;
      return known == null ? "" : known.toLine();
    } catch (Throwable fault) {
      faults.caught(fault);
      return "";
    }
  }

  private void note(byte[] bytes) throws InvalidProtocolBufferException {
    if (watch != null) {
      Fact fact = Fact.parseFrom(bytes);
      if (fact.hasTaskProgress()) {
        book.taskProgressed(fact.getTaskProgress());
      }
    }
  }

  private Outgoing health() {
    CollectorHealth.Builder health =
        CollectorHealth.newBuilder()
            .setQueued(queue.waiting())
            .setDroppedBulk(queue.dropped(Lane.BULK))
            .setDroppedReserved(queue.dropped(Lane.RESERVED))
            .setAcknowledged(sender.deliveries().acknowledged())
            .setSendErrors(sender.deliveries().failed())
            .setFaults(faults.count())
            .setBreaker(sender.breakerState())
            .setCallbackP99Ns(listener.callbackP99Ns());
    long droppedBySpark = droppedEvents.count();
    if (droppedBySpark >= 0) {
      health.setSparkDroppedEvents(droppedBySpark);
    }
    Fact.Builder fact =
        Fact.newBuilder().setEventTimeMs(System.currentTimeMillis()).setCollectorHealth(health);
    return Outgoing.fact(Lane.BULK, fact, health.buildPartial().getSerializedSize());
  }

  @Override
  public void shutdown() {
    try {
      if (sender == null) {
        return;
      }
      long until = System.currentTimeMillis() + SHUTDOWN_MS;
      if (watch != null) {
        watch.stop(300);
      }
      long abandoned = sender.finish(until - System.currentTimeMillis());
      if (abandoned > 0) {
        PluginLog.warn("Sparkfuse: " + abandoned + " records did not reach Kafka");
      }
    } catch (Throwable fault) {
      faults.caught(fault);
    }
  }
}
