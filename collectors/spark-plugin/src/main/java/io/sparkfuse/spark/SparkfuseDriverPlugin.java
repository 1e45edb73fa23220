package io.sparkfuse.spark;

import com.google.protobuf.InvalidProtocolBufferException;
import io.sparkfuse.contracts.Fact;
import io.sparkfuse.spark.blocks.BlockLimits;
import io.sparkfuse.spark.counters.StageRegistry;
import io.sparkfuse.spark.facts.Application;
import io.sparkfuse.spark.facts.WarmUp;
import io.sparkfuse.spark.hook.FuseState;
import io.sparkfuse.spark.hook.SignalConsumer;
import io.sparkfuse.spark.listener.DroppedEvents;
import io.sparkfuse.spark.listener.EventFilter;
import io.sparkfuse.spark.listener.JobKeyTemplate;
import io.sparkfuse.spark.listener.SparkfuseListener;
import io.sparkfuse.spark.safety.CollectorProtection;
import io.sparkfuse.spark.safety.CollectorProtection.Level;
import io.sparkfuse.spark.safety.DaemonThreads;
import io.sparkfuse.spark.safety.FaultCounter;
import io.sparkfuse.spark.safety.HeapGauge;
import io.sparkfuse.spark.safety.KafkaLogLevel;
import io.sparkfuse.spark.safety.LoadMonitor;
import io.sparkfuse.spark.safety.PluginLog;
import io.sparkfuse.spark.safety.ProtectionThreads;
import io.sparkfuse.spark.sampler.DriverFactSink;
import io.sparkfuse.spark.sampler.Sampler;
import io.sparkfuse.spark.settings.Deadline;
import io.sparkfuse.spark.settings.PluginSettings;
import io.sparkfuse.spark.settings.PluginSettings.FuseMode;
import io.sparkfuse.spark.transport.DriverReply;
import io.sparkfuse.spark.transport.FactQueue;
import io.sparkfuse.spark.transport.Sender;
import java.util.Collections;
import java.util.Locale;
import java.util.Map;
import java.util.UUID;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkEnv;
import org.apache.spark.SparkFirehoseListener;
import org.apache.spark.api.plugin.DriverPlugin;
import org.apache.spark.api.plugin.PluginContext;
import org.apache.spark.storage.BlockManagerId;

/** The plugin in the driver: listener, sender, hook, and the RPC endpoint for executors. */
final class SparkfuseDriverPlugin implements DriverPlugin {
  /** Spark's executor id of the driver. */
  private static final String DRIVER = "driver";

  private final DriverDependencies dependencies;
  private final FaultCounter faults = new FaultCounter("the driver's plugin");
  // Faults of the sender are counted separately from faults of callbacks: if callback faults switch
  // the listener off, the sender must still report this.
  private final FaultCounter senderFaults = new FaultCounter("the driver's sender");
  private final StageRegistry registry = new StageRegistry();
  private final String collector = "driver-" + UUID.randomUUID().toString().substring(0, 8);
  private SparkContext context;
  private PluginSettings settings;
  private FactQueue queue;
  private CollectorProtection protection;
  private SparkfuseListener listener;
  private Sender sender;
  private ProtectionThreads protectionThreads;
  private FuseState fuse;
  private BlockLimits limits;
  private SignalConsumer signalConsumer;
  private Sampler sampler;
  private volatile Application application;

  SparkfuseDriverPlugin(DriverDependencies dependencies) {
    this.dependencies = dependencies;
  }

  @Override
  public Map<String, String> init(SparkContext sparkContext, PluginContext pluginContext) {
    try {
      open(sparkContext);
    } catch (Throwable fault) { // the job starts without the collector
      faults.caught(fault);
    }
    return Collections.emptyMap();
  }

  private void open(SparkContext sparkContext) {
    context = sparkContext;
    settings = dependencies.settings(context.conf());
    if (!settings.enabled) {
      return;
    }
    PluginSettings.warnOfUnknownKeys(context.conf());
    JobKeyTemplate.resolve(context.conf(), System.getProperty("sun.java.command", ""));
    KafkaLogLevel.errorsOnly();
    fuse = new FuseState(settings.fuse, settings.fuseHold);
    registry.plan(
        settings.pricePerCoreHour, Deadline.allowedMs(settings.deadline, context.startTime()));
    limits = settings.fuse == FuseMode.OFF ? null : blockLimits();
    Fuse.install(fuse, limits);
    queue = dependencies.queue(settings);
    protection =
        new CollectorProtection(loadMonitor(), settings.protectionPauseMs, this::levelChanged);
    DaemonThreads.of("warm-up", senderFaults, WarmUp::run).start();
    listener =
        new SparkfuseListener(
            context.conf(),
            dependencies.recorder(queue),
            registry,
            new EventFilter(protection::level, queue::skip),
            faults,
            SparkfusePlugin.version());
    addListener();
    startSender();
    protectionThreads = ProtectionThreads.start(protection, settings.switchFile, senderFaults);
  }

  private BlockLimits blockLimits() {
    return new BlockLimits(
        context,
        registry,
        fuse::holds,
        new DroppedEvents(context)::count,
        settings.safePointMs,
        faults);
  }

  private LoadMonitor loadMonitor() {
    LoadMonitor.Gauges gauges =
        new LoadMonitor.Gauges(HeapGauge::freeShare, HeapGauge::gcMs, this::callbackNs);
    return new LoadMonitor(
        gauges, settings.minFreeHeap, settings.maxGcShare, settings.callbackBudgetNs);
  }

  private long callbackNs() {
    return listener == null ? 0 : listener.times().cost();
  }

  private void levelChanged(Level now) {
    registry.setIncomplete(now != Level.ALL);
  }

  private void addListener() {
    addListener(listener);
    if (limits != null) {
      addListener(limits.listener());
      limits.start();
    }
  }

  private void addListener(SparkFirehoseListener listener) {
    try {
      context.listenerBus().addToQueue(listener, SparkfuseListener.QUEUE);
    } catch (Throwable noQueue) { // addToQueue is not a public API
      PluginLog.warnOncePerMinute("the plugin uses a shared listener queue", noQueue);
      context.addSparkListener(listener);
    }
  }

  private void startSender() {
    DroppedEvents droppedEvents = new DroppedEvents(context);
    CollectorHealthReporter state =
        new CollectorHealthReporter(queue, protection, listener, droppedEvents, faults);
    Sender created =
        new Sender(
            queue,
            dependencies.backlogBytes(settings),
            dependencies.sinks(settings, collector),
            () -> application,
            collector,
            settings.healthIntervalMs,
            senderFaults);
    created.start(() -> state.now(created, senderFaults.count()));
    sender = created;
  }

  /**
   * Completes the start of the plugin; Spark calls this method when it knows the application's id
   * and attempt.
   */
  @Override
  public void registerMetrics(String appId, PluginContext pluginContext) {
    try {
      if (sender != null) {
        application = dependencies.application(settings, context, appId);
        sampleDriver();
        signalConsumer =
            SignalConsumer.start(
                settings, application, fuse, protection, limits, registry, context, queue, faults);
      }
    } catch (Throwable fault) {
      faults.caught(fault);
    }
  }

  /**
   * Samples the driver's JVM, except in local mode, in which the executor plugin already samples
   * it.
   */
  private void sampleDriver() {
    if (!context.isLocal()) {
      DriverFactSink sink =
          new DriverFactSink(
              dependencies.recorder(queue), () -> protection.level() != Level.NOTHING);
      sampler = new Sampler(settings, DRIVER, this::host, sink, faults);
      sampler.start();
    }
  }

  private String host() {
    SparkEnv environment = SparkEnv.get(); // SparkEnv is null while Spark stops
    BlockManagerId blockManager =
        environment == null ? null : environment.blockManager().blockManagerId();
    return blockManager == null ? context.conf().get("spark.driver.host", "") : blockManager.host();
  }

  /**
   * Queues the facts of an executor. The reply contains the application and whether the collector
   * is on.
   */
  @Override
  public Object receive(Object message) {
    try {
      if (sender != null && message instanceof byte[][]) {
        for (byte[] fact : (byte[][]) message) {
          dependencies.forward(queue, fact);
          recordProgress(fact);
        }
      }
    } catch (Throwable fault) {
      faults.caught(fault);
    }
    return reply();
  }

  private Object reply() {
    try {
      return DriverReply.text(
          application, protection == null || protection.level() != Level.NOTHING);
    } catch (Throwable fault) {
      faults.caught(fault);
      return "";
    }
  }

  private void recordProgress(byte[] bytes) throws InvalidProtocolBufferException {
    if (signalConsumer != null || limits != null) {
      Fact fact = Fact.parseFrom(bytes);
      if (fact.hasTaskProgress()) {
        registry.taskProgressed(fact.getTaskProgress());
        if (limits != null) {
          limits.taskProgressed(fact.getTaskProgress());
        }
      } else if (fact.hasExecutorSample()) {
        registry.executorSampled(fact.getExecutorSample());
      }
    }
  }

  @Override
  public void shutdown() {
    try {
      if (sender == null) {
        return;
      }
      long untilNs = System.nanoTime() + dependencies.shutdownMs() * 1_000_000;
      if (limits != null) {
        limits.stop();
      }
      if (protectionThreads != null) { // started last
        protectionThreads.stop();
      }
      if (sampler != null) {
        sampler.stop();
      }
      if (signalConsumer != null) {
        signalConsumer.stop(300);
      }
      long abandoned = sender.finish((untilNs - System.nanoTime()) / 1_000_000);
      if (abandoned > 0) {
        PluginLog.warn(
            String.format(
                Locale.ROOT,
                "Sparkfuse: %d records were not sent to Kafka: %d waited, %d had no answer, %d failed",
                abandoned,
                sender.waiting(),
                sender.routes().pending(),
                sender.routes().failed()));
      }
      long tookMs = dependencies.shutdownMs() - (untilNs - System.nanoTime()) / 1_000_000;
      PluginLog.info("Sparkfuse: " + listener.times() + "; stopped in " + tookMs + " ms");
    } catch (Throwable fault) {
      faults.caught(fault);
    }
  }
}
