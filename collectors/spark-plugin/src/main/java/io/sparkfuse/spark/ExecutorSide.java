package io.sparkfuse.spark;

import io.sparkfuse.spark.safety.Faults;
import io.sparkfuse.spark.safety.QuietKafka;
import io.sparkfuse.spark.sampler.TaskEar;
import io.sparkfuse.spark.settings.PluginSettings;
import io.sparkfuse.spark.transport.DriverLink;
import io.sparkfuse.spark.transport.ExecutorOutlet;
import java.util.Map;
import java.util.UUID;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskFailedReason;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.PluginContext;
import org.apache.spark.storage.BlockManagerId;

/** The plugin in an executor: one sampler, and a way to the driver or to Kafka. */
final class ExecutorSide implements ExecutorPlugin {
  private final ExecutorParts parts;
  private final Faults faults = new Faults("an executor's plugin");
  private volatile TaskEar ear;
  private ExecutorOutlet outlet;

  ExecutorSide(ExecutorParts parts) {
    this.parts = parts;
  }

  @Override
  public void init(PluginContext context, Map<String, String> extraConf) {
    try {
      PluginSettings settings = parts.settings(context.conf());
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
        new ExecutorOutlet(settings, collector, link, parts.sinks(settings, collector), faults);
    TaskEar made = parts.ear(settings, context.executorID(), () -> host(context), outlet, faults);
    link.start();
    made.start();
    ear = made;
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
      TaskEar current = ear;
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
      TaskEar current = ear;
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
      if (ear != null) {
        ear.stop();
        outlet.close(parts.shutdownMs());
      }
    } catch (Throwable fault) {
      faults.caught(fault);
    }
  }
}
