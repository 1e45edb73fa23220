package io.sparkfuse.spark.hook;

import io.sparkfuse.spark.blocks.BlockLimits;
import io.sparkfuse.spark.counters.StageRegistry;
import io.sparkfuse.spark.facts.Application;
import io.sparkfuse.spark.listener.DroppedEvents;
import io.sparkfuse.spark.listener.StreamingQueries;
import io.sparkfuse.spark.safety.CollectorProtection;
import io.sparkfuse.spark.safety.DaemonThreads;
import io.sparkfuse.spark.safety.FaultCounter;
import io.sparkfuse.spark.safety.PluginLog;
import io.sparkfuse.spark.safety.SteadyClock;
import io.sparkfuse.spark.settings.PluginSettings;
import io.sparkfuse.spark.settings.PluginSettings.ExecutorTransport;
import io.sparkfuse.spark.transport.FactQueue;
import io.sparkfuse.spark.transport.KafkaClientSettings;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.utils.Utils;
import org.apache.spark.SparkContext;

/**
 * Reads new committed records from the partition of {@code signals} that belongs to the
 * application's id, without a consumer group. While the broker is away, the job continues and no
 * signal is obeyed.
 */
public final class SignalConsumer {
  private static final long RETRY_MS = 2_000;
  private static final long RECHECK_MS = 60_000;
  private static final long CLOSE_MS = 200;

  /**
   * Time between two reads if the first one returned records, so that a stream of records, of this
   * application or of others in its partition, cannot cause more than a few requests a second.
   */
  private static final long BETWEEN_READS_MS = 500;

  private final PluginSettings settings;
  private final Application application;
  private final byte[] key;
  private final FuseState state;
  private final Hook hook;
  private final KafkaReceiptWriter receipts;
  private final ControlsReader controls;
  private final FaultCounter faults;
  private final Thread thread;
  private final CountDownLatch stop = new CountDownLatch(1);
  private volatile KafkaConsumer<byte[], byte[]> consumer;
  private TopicPartition partition;
  private long nextOffset = -1;

  private SignalConsumer(
      PluginSettings settings,
      Application application,
      FuseState state,
      Hook hook,
      KafkaReceiptWriter receipts,
      ControlsReader controls,
      FaultCounter faults) {
    this.settings = settings;
    this.application = application;
    this.key = application.id.getBytes(StandardCharsets.UTF_8);
    this.state = state;
    this.hook = hook;
    this.receipts = receipts;
    this.controls = controls;
    this.faults = faults;
    this.thread = DaemonThreads.of("hook", faults, this::run);
  }

  /** Starts the consumer, or returns null if no public key is configured. */
  public static SignalConsumer start(
      PluginSettings settings,
      Application application,
      FuseState state,
      CollectorProtection collector,
      BlockLimits limits,
      StageRegistry registry,
      SparkContext context,
      FactQueue queue,
      FaultCounter faults) {
    PublicKeys keys = PublicKeys.of(settings.fusePublicKeys);
    if (keys.isEmpty()) {
      PluginLog.info("Sparkfuse: spark.sparkfuse.fuse.publicKeys is empty, so no signal is obeyed");
      return null;
    }
    KafkaReceiptWriter receipts = new KafkaReceiptWriter(settings, application, queue);
    ControlsReader controls = new ControlsReader(settings, keys);
    Clock clock = SteadyClock::ms;
    StreamingQueries streaming = new StreamingQueries();
    HookEdge edge =
        new HookEdge(
            clock,
            System::currentTimeMillis,
            controls,
            new DriverCounters(
                registry,
                new DroppedEvents(context)::count,
                settings.executorTransport == ExecutorTransport.DIRECT,
                new SharedDriver(context.getConf(), registry, streaming)),
            new SparkActuator(context, registry, streaming, collector, limits, clock, faults),
            receipts);
    PolicyBook policies = PolicyBook.read(settings.fusePolicies);
    Hook hook = new Hook(application, keys, policies, state, edge, faults);
    SignalConsumer consumer =
        new SignalConsumer(settings, application, state, hook, receipts, controls, faults);
    consumer.thread.start();
    return consumer;
  }

  /** Stops the consumer within {@code budgetMs}. */
  public void stop(long budgetMs) {
    stop.countDown();
    KafkaConsumer<byte[], byte[]> current = consumer;
    if (current != null) {
      current.wakeup(); // after an interrupt the client would log a stack trace
    }
    try {
      thread.join(budgetMs);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  private void run() {
    while (!stopped() && faults.on()) {
      try {
        consume();
      } catch (Throwable fault) {
        // the job continues without the fuse; the state for job code shows this
        if (!stopped()) {
          PluginLog.warnOncePerMinute("signals cannot be read", fault);
        }
      }
      state.setWatching(false);
      pause(RETRY_MS);
    }
    receipts.close();
    controls.close();
  }

  /** Closes the clients that only a signal needs, after a minute without a signal. */
  private void closeIfQuiet() {
    long nowMs = SteadyClock.ms();
    receipts.closeIfQuiet(nowMs);
    controls.closeIfQuiet(nowMs);
  }

  private boolean stopped() {
    return stop.getCount() == 0;
  }

  private void pause(long milliseconds) {
    try {
      stop.await(milliseconds, TimeUnit.MILLISECONDS);
    } catch (InterruptedException ignored) { // the loop in run() checks whether it must end
    }
  }

  private void consume() {
    Properties properties = KafkaClientSettings.consumer(settings, "sparkfuse-hook");
    KafkaConsumer<byte[], byte[]> opened =
        KafkaClientSettings.withOwnLoader(
            () ->
                new KafkaConsumer<>(
                    properties, new ByteArrayDeserializer(), new ByteArrayDeserializer()));
    try {
      consumer = opened;
      while (!stopped()) {
        assign(opened);
        long startNs = System.nanoTime();
        while (!stopped() && (System.nanoTime() - startNs) / 1_000_000 < RECHECK_MS) {
          ConsumerRecords<byte[], byte[]> records = opened.poll(Duration.ofMillis(500));
          records.forEach(this::receive);
          closeIfQuiet();
          if (!records.isEmpty()) {
            pause(BETWEEN_READS_MS);
          }
        }
      }
    } finally {
      consumer = null;
      opened.close(Duration.ofMillis(CLOSE_MS));
    }
  }

  /**
   * Assigns the partition. The assignment is repeated from time to time, because partitions can be
   * added to a topic.
   */
  private void assign(KafkaConsumer<byte[], byte[]> opened) {
    String topic = settings.topic("signals");
    List<PartitionInfo> partitions = opened.partitionsFor(topic);
    if (partitions == null || partitions.isEmpty()) {
      throw new IllegalStateException("there is no topic " + topic);
    }
    TopicPartition wanted =
        new TopicPartition(topic, partitionOf(application.id, partitions.size()));
    if (!wanted.equals(partition)) {
      partition = wanted;
      nextOffset = -1;
    }
    opened.assign(Collections.singleton(partition));
    if (nextOffset < 0) {
      opened.seekToEnd(Collections.singleton(partition));
      nextOffset = opened.position(partition);
    } else {
      opened.seek(partition, nextOffset);
    }
    state.setWatching(true);
  }

  /** Returns the partition that Kafka's default partitioner assigns to a key. */
  static int partitionOf(String key, int partitions) {
    return Utils.toPositive(Utils.murmur2(key.getBytes(StandardCharsets.UTF_8))) % partitions;
  }

  private void receive(ConsumerRecord<byte[], byte[]> entry) {
    nextOffset = entry.offset() + 1;
    if (entry.value() != null && Arrays.equals(key, entry.key())) {
      boolean appended = entry.timestampType() == TimestampType.LOG_APPEND_TIME;
      hook.receive(
          new SignalRecord(application.id, text(entry.value()), entry.timestamp(), appended));
    }
  }

  private static String text(byte[] bytes) {
    return new String(bytes, StandardCharsets.UTF_8);
  }
}
