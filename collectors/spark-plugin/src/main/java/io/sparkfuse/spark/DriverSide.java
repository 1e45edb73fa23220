package io.sparkfuse.spark;

import com.google.protobuf.InvalidProtocolBufferException;
import io.sparkfuse.contracts.Fact;
import io.sparkfuse.spark.counters.StageBook;
import io.sparkfuse.spark.facts.Application;
import io.sparkfuse.spark.facts.WarmUp;
import io.sparkfuse.spark.hook.FuseState;
import io.sparkfuse.spark.hook.SignalWatch;
import io.sparkfuse.spark.listener.DroppedEvents;
import io.sparkfuse.spark.listener.EventGate;
import io.sparkfuse.spark.listener.SparkfuseListener;
import io.sparkfuse.spark.safety.CollectorProtection;
import io.sparkfuse.spark.safety.CollectorProtection.Level;
import io.sparkfuse.spark.safety.DaemonThreads;
import io.sparkfuse.spark.safety.Faults;
import io.sparkfuse.spark.safety.Guard;
import io.sparkfuse.spark.safety.HeapGauge;
import io.sparkfuse.spark.safety.PluginLog;
import io.sparkfuse.spark.safety.QuietKafka;
import io.sparkfuse.spark.safety.Strain;
import io.sparkfuse.spark.sampler.DriverOutlet;
import io.sparkfuse.spark.sampler.Sampler;
import io.sparkfuse.spark.settings.PluginSettings;
import io.sparkfuse.spark.transport.DriverAnswer;
import io.sparkfuse.spark.transport.FactQueue;
import io.sparkfuse.spark.transport.Sender;
import java.util.Collections;
import java.util.Map;
import java.util.UUID;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.plugin.DriverPlugin;
import org.apache.spark.api.plugin.PluginContext;
import org.apache.spark.storage.BlockManagerId;

/** The plugin in the driver: listener, sender, hook, and the ear for its executors. */
final class DriverSide implements DriverPlugin {
  /** What Spark calls the driver where it speaks of executors. */
  private static final String DRIVER = "driver";

  private final DriverParts parts;
  private final Faults faults = new Faults("the driver's plugin");
  // Apart from those of callbacks: a listener that is switched off must still be told of.
  private final Faults senderFaults = new Faults("the driver's sender");
  private final StageBook book = new StageBook();
  private final String collector = "driver-" + UUID.randomUUID().toString().substring(0, 8);
  private SparkContext context;
  private PluginSettings settings;
  private FactQueue queue;
  private CollectorProtection protection;
  private SparkfuseListener listener;
  private Sender sender;
  private Guard guard;
  private FuseState fuse;
  private SignalWatch watch;
  private Sampler sampler;
  private volatile Application application;

  DriverSide(DriverParts parts) {
    this.parts = parts;
  }

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
    settings = parts.settings(context.conf());
    if (!settings.enabled) {
      return;
    }
    PluginSettings.warnOfUnknownKeys(context.conf());
    QuietKafka.hush();
    fuse = new FuseState(settings.fuse, settings.fuseHold);
    Fuse.install(fuse);
    queue = parts.queue(settings);
    protection = new CollectorProtection(strain(), settings.protectionPauseMs, this::levelChanged);
    DaemonThreads.of("warm-up", senderFaults, WarmUp::run).start();
    listener =
        new SparkfuseListener(
            context.conf(),
            parts.recorder(queue),
            book,
            new EventGate(protection::level, queue::passOver),
            faults,
            SparkfusePlugin.version());
    listen();
    startSender();
    guard = Guard.start(protection, settings.switchFile, senderFaults);
  }

  private Strain strain() {
    Strain.Gauges gauges =
        new Strain.Gauges(HeapGauge::freeShare, HeapGauge::gcMs, this::callbackNs);
    return new Strain(
        gauges, settings.leastFreeHeap, settings.mostGcShare, settings.callbackBudgetNs);
  }

  private long callbackNs() {
    return listener == null ? 0 : listener.times().cost();
  }

  private void levelChanged(Level now) {
    book.setBlind(now != Level.ALL);
  }

  private void listen() {
    try {
      context.listenerBus().addToQueue(listener, SparkfuseListener.QUEUE);
    } catch (Throwable noQueue) { // not public API: the shared queue is
      PluginLog.trouble("no listener queue of its own", noQueue);
      context.addSparkListener(listener);
    }
  }

  private void startSender() {
    DroppedEvents droppedEvents = new DroppedEvents(context);
    CollectorState state = new CollectorState(queue, protection, listener, droppedEvents, faults);
    Sender made =
        new Sender(
            queue,
            parts.backlogBytes(settings),
            parts.sinks(settings, collector),
            () -> application,
            collector,
            settings.healthIntervalMs,
            senderFaults);
    made.start(() -> state.now(made, senderFaults.count()));
    sender = made;
  }

  /** Spark calls this when it knows the application's id and attempt. */
  @Override
  public void registerMetrics(String appId, PluginContext pluginContext) {
    try {
      if (sender != null) {
        application = parts.application(settings, context, appId);
        sampleDriver();
        watch =
            SignalWatch.start(
                settings, application, fuse, protection, book, context, queue, faults);
      }
    } catch (Throwable fault) {
      faults.caught(fault);
    }
  }

  /** In local mode the driver is also the executor, which samples this JVM already. */
  private void sampleDriver() {
    if (!context.isLocal()) {
      DriverOutlet outlet =
          new DriverOutlet(parts.recorder(queue), () -> protection.level() != Level.NOTHING);
      sampler = new Sampler(settings, DRIVER, this::host, outlet, faults);
      sampler.start();
    }
  }

  private String host() {
    SparkEnv environment = SparkEnv.get(); // null while Spark stops
    BlockManagerId blockManager =
        environment == null ? null : environment.blockManager().blockManagerId();
    return blockManager == null ? context.conf().get("spark.driver.host", "") : blockManager.host();
  }

  /** Takes facts that an executor made; the answer tells it whose it is and whether to go on. */
  @Override
  public Object receive(Object message) {
    try {
      if (sender != null && message instanceof byte[][]) {
        for (byte[] fact : (byte[][]) message) {
          parts.forward(queue, fact);
          note(fact);
        }
      }
    } catch (Throwable fault) {
      faults.caught(fault);
    }
    return answer();
  }

  private Object answer() {
    try {
      return DriverAnswer.text(
          application, protection == null || protection.level() != Level.NOTHING);
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

  @Override
  public void shutdown() {
    try {
      if (sender == null) {
        return;
      }
      long untilNs = System.nanoTime() + parts.shutdownMs() * 1_000_000;
      if (guard != null) { // it was the last to start
        guard.stop();
      }
      if (sampler != null) {
        sampler.stop();
      }
      if (watch != null) {
        watch.stop(300);
      }
      long abandoned = sender.finish((untilNs - System.nanoTime()) / 1_000_000);
      if (abandoned > 0) {
        PluginLog.warn("Sparkfuse: " + abandoned + " records did not reach Kafka");
      }
      long tookMs = parts.shutdownMs() - (untilNs - System.nanoTime()) / 1_000_000;
      PluginLog.info("Sparkfuse: " + listener.times() + "; stopped in " + tookMs + " ms");
    } catch (Throwable fault) {
      faults.caught(fault);
    }
  }
}
