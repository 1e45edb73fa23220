package io.sparkfuse.spark;

import io.sparkfuse.spark.safety.FaultCounter;
import io.sparkfuse.spark.safety.KafkaLogLevel;
import io.sparkfuse.spark.sampler.TaskListener;
import io.sparkfuse.spark.settings.PluginSettings;
import io.sparkfuse.spark.transport.DriverRpcClient;
import io.sparkfuse.spark.transport.ExecutorFactSink;
import java.util.Map;
import java.util.UUID;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskFailedReason;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.PluginContext;
import org.apache.spark.storage.BlockManagerId;

/** The plugin in an executor: a sampler, and a sink to the driver or to Kafka. */
final class SparkfuseExecutorPlugin implements ExecutorPlugin {
  private final ExecutorDependencies dependencies;
  private final FaultCounter faults = new FaultCounter("an executor's plugin");
  private volatile TaskListener taskListener;
  private ExecutorFactSink sink;

  SparkfuseExecutorPlugin(ExecutorDependencies dependencies) {
    this.dependencies = dependencies;
  }

  @Override
  public void init(PluginContext context, Map<String, String> extraConf) {
    try {
      PluginSettings settings = dependencies.settings(context.conf());
      if (settings.enabled) {
        open(context, settings);
      }
    } catch (Throwable fault) {
      // the executor starts without the collector
      faults.caught(fault);
    }
  }

  private void open(PluginContext context, PluginSettings settings) {
    KafkaLogLevel.errorsOnly();
    String collector =
        "executor-" + context.executorID() + "-" + UUID.randomUUID().toString().substring(0, 8);
    DriverRpcClient driverRpc = new DriverRpcClient(context::ask, faults);
    sink =
        new ExecutorFactSink(
            settings, collector, driverRpc, dependencies.sinks(settings, collector), faults);
    TaskListener created =
        dependencies.taskListener(
            settings, context.executorID(), () -> host(context), sink, faults);
    driverRpc.start();
    created.start();
    taskListener = created;
  }

  /**
   * Returns the name under which the scheduler knows this host. PluginContext.hostname() throws in
   * executors, because an executor's RPC has no address. In local mode the block manager has no id
   * until the SparkContext is started, so hostname() is used.
   */
  private static String host(PluginContext context) {
    BlockManagerId blockManager = SparkEnv.get().blockManager().blockManagerId();
    return blockManager == null ? context.hostname() : blockManager.host();
  }

  @Override
  public void onTaskStart() {
    try {
      TaskListener current = taskListener;
      if (current != null) {
        current.taskStarted();
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
      TaskListener current = taskListener;
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
      if (taskListener != null) {
        taskListener.stop();
        sink.close(dependencies.shutdownMs());
      }
    } catch (Throwable fault) {
      faults.caught(fault);
    }
  }
}
