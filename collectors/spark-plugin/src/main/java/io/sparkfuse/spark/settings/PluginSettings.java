package io.sparkfuse.spark.settings;

import io.sparkfuse.spark.safety.PluginLog;
import java.util.Locale;
import java.util.Map;
import org.apache.spark.SparkConf;
import scala.Tuple2;

/**
 * The settings of a job, read once. Unknown keys and invalid values are logged and have no effect.
 */
public final class PluginSettings {
  /** How executors send their facts. */
  public enum ExecutorTransport {
    /**
     * Executors send their facts through the driver by plugin RPC, so that each application needs
     * only one Kafka client.
     */
    RPC,
    /** Each executor sends its facts with a Kafka producer of its own. */
    DIRECT
  }

  /** How far the fuse may go with this job. */
  public enum FuseMode {
    /** The hook reads no signals. */
    OFF,
    /** The hook reports signals in the log and to job code, and stops nothing. */
    WARN,
    /** The job's owner allows a valid signal to stop running work. */
    ACT;

    /** Returns the name used in the configuration and in receipts. */
    public String text() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  /** Size of the smallest queue, which has room for a few facts of the largest size. */
  private static final long MIN_QUEUE_BYTES = 1L << 20;

  public final boolean enabled;

  /** Brokers from the settings or the environment; empty if neither names any. */
  public final String bootstrap;

  public final String kafkaConfigFile;

  /** Brokers of the fallback cluster; empty if there is none. */
  public final String fallbackBootstrap;

  /** Properties file for the fallback cluster; empty if {@link #kafkaConfigFile} is for both. */
  public final String fallbackConfigFile;

  public final String topicPrefix;
  public final String cluster;
  public final String tenant;
  public final int queueFacts;
  public final long queueBytes;
  public final int queueReserved;
  public final long sampleIntervalMs;
  public final long stackAfterMs;
  public final long pythonGraceMs;
  public final ExecutorTransport executorTransport;
  public final long executorPatienceMs;
  public final long healthIntervalMs;
  public final String switchFile;
  public final double minFreeHeap;
  public final double maxGcShare;
  public final long callbackBudgetNs;
  public final long protectionPauseMs;
  public final FuseMode fuse;
  public final String fusePublicKeys;
  public final String fusePolicies;
  public final boolean fuseHold;

  /** Price of an hour of one core; 0 if it is {@code off} or not set. */
  public final double pricePerCoreHour;

  /** The text of the deadline; {@link Deadline} reads it. */
  public final String deadline;

  /** The longest time for which an act waits for the end of a safe point. */
  public final long safePointMs;

  private PluginSettings(SparkConf conf, Map<String, String> environment) {
    ConfigurationReader read = new ConfigurationReader(conf);
    enabled = read.flag(SettingKeys.ENABLED, true);
    bootstrap =
        read.text(SettingKeys.BOOTSTRAP, environment.getOrDefault("SPARKFUSE_KAFKA_BOOTSTRAP", ""));
    kafkaConfigFile = read.text(SettingKeys.KAFKA_CONFIG_FILE, "");
    fallbackBootstrap = fallbackBootstrap(read);
    fallbackConfigFile = read.text(SettingKeys.FALLBACK_CONFIG_FILE, "");
    topicPrefix =
        read.text(
            SettingKeys.TOPIC_PREFIX,
            environment.getOrDefault("SPARKFUSE_TOPIC_PREFIX", "sparkfuse"));
    cluster = read.text(SettingKeys.CLUSTER, "default");
    tenant = read.text(SettingKeys.TENANT, "default");
    queueFacts = read.count(SettingKeys.QUEUE_FACTS, 20_000, 1);
    queueBytes = read.bytes(SettingKeys.QUEUE_BYTES, 23L << 20, MIN_QUEUE_BYTES);
    queueReserved = read.count(SettingKeys.QUEUE_RESERVED, 20_000, 1);
    sampleIntervalMs = read.millis(SettingKeys.SAMPLE_INTERVAL, 5_000, 100);
    stackAfterMs = read.millis(SettingKeys.SAMPLE_STACK_AFTER, 10_000, 0);
    pythonGraceMs = read.millis(SettingKeys.SAMPLE_PYTHON_GRACE, 60_000, 0);
    executorTransport =
        read.choice(SettingKeys.EXECUTOR_TRANSPORT, ExecutorTransport.class, ExecutorTransport.RPC);
    executorPatienceMs = read.millis(SettingKeys.EXECUTOR_PATIENCE, 30_000, 1_000);
    healthIntervalMs = read.millis(SettingKeys.HEALTH_INTERVAL, 5_000, 100);
    switchFile = read.path(SettingKeys.SWITCH_FILE);
    minFreeHeap = read.share(SettingKeys.PROTECTION_FREE_HEAP, 0.1);
    maxGcShare = read.share(SettingKeys.PROTECTION_GC_SHARE, 0.1);
    callbackBudgetNs = read.micros(SettingKeys.PROTECTION_CALLBACK, 2_000, 1) * 1_000;
    protectionPauseMs = read.millis(SettingKeys.PROTECTION_PAUSE, 30_000, 1_000);
    fuse = read.choice(SettingKeys.FUSE, FuseMode.class, FuseMode.WARN);
    fusePublicKeys = read.text(SettingKeys.FUSE_PUBLIC_KEYS, "");
    fusePolicies = read.path(SettingKeys.FUSE_POLICIES);
    fuseHold = read.flag(SettingKeys.FUSE_HOLD, false);
    pricePerCoreHour =
        read.text(SettingKeys.PRICE_CORE_HOUR, "").equals("off")
            ? 0
            : read.amount(SettingKeys.PRICE_CORE_HOUR, 0);
    deadline = read.text(SettingKeys.DEADLINE, "");
    safePointMs = read.millis(SettingKeys.FUSE_SAFE_POINT, 30_000, 0);
  }

  /**
   * Reads all settings. The environment provides the broker and the topic prefix if the job does
   * not.
   */
  public static PluginSettings of(SparkConf conf) {
    return of(conf, System.getenv());
  }

  static PluginSettings of(SparkConf conf, Map<String, String> environment) {
    return new PluginSettings(conf, environment);
  }

  private String fallbackBootstrap(ConfigurationReader read) {
    String brokers = read.text(SettingKeys.FALLBACK_BOOTSTRAP, "");
    if (!brokers.isEmpty() && brokers.equals(bootstrap)) {
      PluginLog.warn(
          "Sparkfuse: "
              + SettingKeys.FALLBACK_BOOTSTRAP
              + " has no effect, because it names the brokers of "
              + SettingKeys.BOOTSTRAP);
      return "";
    }
    if (brokers.isEmpty() && !read.text(SettingKeys.FALLBACK_CONFIG_FILE, "").isEmpty()) {
      PluginLog.warn(
          "Sparkfuse: "
              + SettingKeys.FALLBACK_CONFIG_FILE
              + " has no effect without "
              + SettingKeys.FALLBACK_BOOTSTRAP);
    }
    return brokers;
  }

  /** Returns whether records go to a second cluster while the first one accepts none. */
  public boolean hasFallback() {
    return !fallbackBootstrap.isEmpty();
  }

  /** Logs each unknown {@code spark.sparkfuse.*} key with the most similar known key. */
  public static void warnOfUnknownKeys(SparkConf conf) {
    for (Tuple2<String, String> pair : conf.getAll()) {
      String key = pair._1();
      if (key.startsWith(SettingKeys.PREFIX) && !SettingKeys.ALL.contains(key)) {
        PluginLog.warn(
            "Sparkfuse: unknown setting "
                + key
                + "; the most similar known setting is "
                + SettingKeys.nearest(key));
      }
    }
  }

  /** Returns the full name of a topic. */
  public String topic(String name) {
    return topicPrefix + "." + name;
  }
}
