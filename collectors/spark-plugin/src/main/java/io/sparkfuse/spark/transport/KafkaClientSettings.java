package io.sparkfuse.spark.transport;

import io.sparkfuse.spark.safety.PluginLog;
import io.sparkfuse.spark.settings.PluginSettings;
import io.sparkfuse.spark.settings.SettingKeys;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.Properties;
import java.util.function.Supplier;
import org.apache.kafka.clients.producer.KafkaProducer;

/**
 * Builds the configuration of the Kafka clients from the owner's file for security and addresses,
 * and from the plugin's limits. The limits take precedence, so that a failing broker cannot affect
 * the job.
 */
public final class KafkaClientSettings {
  private static final String STANDARD_BOOTSTRAP = "127.0.0.1:19092";

  /**
   * A record that is not delivered within this time is dropped and counted. The timeout is long,
   * because it need not protect the memory: the buffer has a limit in bytes.
   */
  static final int DELIVERY_MS = 3_600_000;

  /** Minimum number of batches in a producer's buffer. */
  private static final int MIN_BATCHES = 32;

  private static final int MAX_BATCH_BYTES = 128 << 10;

  private KafkaClientSettings() {}

  /**
   * Returns the configuration for facts and receipts: idempotent, all acknowledgements, limited
   * time and memory.
   */
  public static Properties producer(PluginSettings settings, String clientId, int bufferBytes) {
    return producer(common(settings, clientId), bufferBytes);
  }

  /** Returns the configuration for facts and receipts that go to the fallback cluster. */
  static Properties fallbackProducer(PluginSettings settings, String clientId, int bufferBytes) {
    String file = settings.fallbackConfigFile;
    Properties all =
        common(
            file.isEmpty()
                ? ownersFile(SettingKeys.KAFKA_CONFIG_FILE, settings.kafkaConfigFile)
                : ownersFile(SettingKeys.FALLBACK_CONFIG_FILE, file),
            settings.fallbackBootstrap,
            clientId);
    return producer(all, bufferBytes);
  }

  private static Properties producer(Properties bounds, int bufferBytes) {
    bounds.put("acks", "all");
    bounds.put("enable.idempotence", "true");
    bounds.put("linger.ms", "10"); // long enough for all records of a pass
    int batchBytes = Math.min(MAX_BATCH_BYTES, bufferBytes / MIN_BATCHES);
    bounds.put("batch.size", Integer.toString(batchBytes));
    bounds.put("buffer.memory", Integer.toString(bufferBytes));
    bounds.put("max.block.ms", "200");
    bounds.put("delivery.timeout.ms", Integer.toString(DELIVERY_MS));
    bounds.putIfAbsent("compression.type", "lz4");
    return bounds;
  }

  /**
   * Returns the configuration for receipts that the hook waits for: each attempt ends within {@code
   * limitMs}.
   */
  public static Properties receiptProducer(PluginSettings settings, String clientId, int limitMs) {
    Properties bounds = producer(settings, clientId, 1 << 20);
    bounds.put("linger.ms", "0");
    bounds.put("max.block.ms", Integer.toString(limitMs));
    bounds.put("request.timeout.ms", Integer.toString(limitMs));
    bounds.put("delivery.timeout.ms", Integer.toString(limitMs));
    return bounds;
  }

  /**
   * Returns the configuration for signals: no consumer group, no commits, and committed records
   * only, from the end of the topic.
   */
  public static Properties consumer(PluginSettings settings, String clientId) {
    Properties bounds = common(settings, clientId);
    bounds.remove("group.id");
    bounds.put("enable.auto.commit", "false");
    bounds.put("auto.offset.reset", "latest");
    bounds.put("isolation.level", "read_committed");
    bounds.put("allow.auto.create.topics", "false");
    bounds.put("default.api.timeout.ms", "10000");
    bounds.put("max.partition.fetch.bytes", Integer.toString(1 << 20));
    bounds.put("fetch.max.bytes", Integer.toString(1 << 20));
    return bounds;
  }

  /** Creates a client with the plugin's class loader, because the client loads classes by name. */
  public static <T> T withOwnLoader(Supplier<T> build) {
    Thread thread = Thread.currentThread();
    ClassLoader before = thread.getContextClassLoader();
    thread.setContextClassLoader(KafkaClientSettings.class.getClassLoader());
    try {
      return build.get();
    } finally {
      thread.setContextClassLoader(before);
    }
  }

  private static Properties common(PluginSettings settings, String clientId) {
    Properties file = ownersFile(SettingKeys.KAFKA_CONFIG_FILE, settings.kafkaConfigFile);
    return common(file, settings.bootstrap, clientId);
  }

  private static Properties common(Properties all, String bootstrap, String clientId) {
    if (!bootstrap.isEmpty()) {
      all.put("bootstrap.servers", bootstrap);
    }
    all.putIfAbsent("bootstrap.servers", STANDARD_BOOTSTRAP);
    all.put("client.id", clientId);
    all.put("request.timeout.ms", "10000");
    all.put("socket.connection.setup.timeout.ms", "2000");
    all.put("socket.connection.setup.timeout.max.ms", "5000");
    all.put("reconnect.backoff.ms", "200");
    all.put("reconnect.backoff.max.ms", "5000");
    all.put("enable.metrics.push", "false");
    all.put("auto.include.jmx.reporter", "false");
    return all;
  }

  private static Properties ownersFile(String setting, String path) {
    Properties file = new Properties();
    if (path.isEmpty()) {
      return file;
    }
    try (InputStream in = Files.newInputStream(Paths.get(path))) {
      file.load(in);
    } catch (Exception unreadable) {
      // without the file the broker may refuse the client; refused records are counted
      PluginLog.warn("Sparkfuse: cannot read " + setting + ": " + unreadable);
    }
    file.replaceAll((key, value) -> isClassName((String) key) ? ownClass((String) value) : value);
    UnrelocatedCallbackHandler.install(file);
    return file;
  }

  private static boolean isClassName(String key) {
    return key.equals("sasl.jaas.config") || key.endsWith(".class");
  }

  /**
   * Returns the text with Kafka's package replaced by the package of this client. The plugin's jar
   * contains the client in another package, but the owner writes Kafka's class names, such as that
   * of a login module.
   */
  private static String ownClass(String value) {
    String producer = KafkaProducer.class.getName();
    String own =
        producer.substring(0, producer.length() - "clients.producer.KafkaProducer".length());
    // built from parts, because the build also replaces the package name in constants
    return value.replace(String.join(".", "org", "apache", "kafka", ""), own);
  }
}
