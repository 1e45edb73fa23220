package io.sparkfuse.spark;

import io.sparkfuse.spark.safety.PluginLog;
import org.apache.spark.api.plugin.DriverPlugin;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.SparkPlugin;

/**
 * Entry point: {@code spark.plugins=io.sparkfuse.spark.SparkfusePlugin}. Never throws, because an
 * exception here would prevent the job from starting.
 */
public final class SparkfusePlugin implements SparkPlugin {
  @Override
  public DriverPlugin driverPlugin() {
    try {
      return new SparkfuseDriverPlugin(new DriverDependencies());
    } catch (Throwable fault) {
      PluginLog.warnOncePerMinute("the plugin is not active in the driver", fault);
      return null;
    }
  }

  @Override
  public ExecutorPlugin executorPlugin() {
    try {
      return new SparkfuseExecutorPlugin(new ExecutorDependencies());
    } catch (Throwable fault) {
      PluginLog.warnOncePerMinute("the plugin is not active in an executor", fault);
      return null;
    }
  }

  /** Returns the version in the manifest of the jar. */
  static String version() {
    String version = SparkfusePlugin.class.getPackage().getImplementationVersion();
    return version == null ? "unknown" : version;
  }
}
