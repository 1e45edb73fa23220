package io.sparkfuse.spark;

import io.sparkfuse.spark.safety.Faults;
import io.sparkfuse.spark.safety.QuietKafka;
import io.sparkfuse.spark.sampler.Sampler;
import io.sparkfuse.spark.settings.PluginSettings;
import io.sparkfuse.spark.transport.DriverLink;
import io.sparkfuse.spark.transport.ExecutorOutlet;
import io.sparkfuse.spark.transport.KafkaRecordSink;
import java.util.Map;
import java.util.UUID;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskFailedReason;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.PluginContext;
import org.apache.spark.storage.BlockManagerId;

/** The plugin in an executor: one sampler, and a way to the driver or to Kafka. */
final class ExecutorSide implements ExecutorPlugin {
  private static final long SHUTDOWN_MS = 500;

  private final Faults faults = new Faults("an executor's plugin");
  private volatile Sampler sampler;
  private ExecutorOutlet outlet;

  @Override
  public void init(PluginContext context, Map<String, String> extraConf) {
    try {
      PluginSettings settings = PluginSettings.of(context.conf());
      if (settings.enabled) {
        open(context, settings);
      }
    } catch (Throwable fault) { // the executor starts all the same, unwatched
      faults.caught(fault);
    }
  }

  private void open(PluginContext context, PluginSettings settings) {
    QuietKafka.hush();
    String collector =
        "executor-" + context.executorID() + "-" + UUID.randomUUID().toString().substring(0, 8);
    DriverLink link = new DriverLink(context::ask, faults);
    outlet =
        new ExecutorOutlet(
            settings, collector, link, KafkaRecordSink.factory(settings, collector), faults);
    Sampler made = new Sampler(settings, context.executorID(), () -> host(context), outlet, faults);
    link.start();
    made.start();
    sampler = made;
  }

  /**
   * The host as the scheduler calls it. PluginContext.hostname() throws in executors, whose RPC has
   * no address; in local mode the block manager has no id until the context is up.
   */
  private static String host(PluginContext context) {
    BlockManagerId blockManager = SparkEnv.get().blockManager().blockManagerId();
    return blockManager == null ? context.hostname() : blockManager.host();
  }

  @Override
  public void onTaskStart() {
    try {
      Sampler current = sampler;
      if (current != null) {
        current.taskBegan();
      }
    } catch (Throwable fault) {
      faults.caught(fault);
    }
  }

  @Override
  public void onTaskSucceeded() {
    taskEnded();
  }

  @Override
  public void onTaskFailed(TaskFailedReason reason) {
    taskEnded();
  }

  private void taskEnded() {
    try {
      Sampler current = sampler;
      if (current != null) {
        current.taskEnded();
      }
    } catch (Throwable fault) {
      faults.caught(fault);
    }
  }

  @Override
  public void shutdown() {
    try {
      if (sampler != null) {
        sampler.stop();
        outlet.close(SHUTDOWN_MS);
      }
    } catch (Throwable fault) {
      faults.caught(fault);
    }
  }
}
