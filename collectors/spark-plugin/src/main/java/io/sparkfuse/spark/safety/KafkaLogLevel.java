package io.sparkfuse.spark.safety;

import java.lang.reflect.Method;

/**
 * Keeps the Kafka clients from filling the job's log while a broker is away: what matters of it is
 * counted and told by the plugin itself.
 */
public final class KafkaLogLevel {
  private static final String CLIENTS = "io.sparkfuse.shaded.kafka";

  private KafkaLogLevel() {}

  /** Lets only errors of the clients through, where Spark logs with Log4j 2 (3.3 and later). */
  public static void hush() {
    try {
      Class<?> level = Class.forName("org.apache.logging.log4j.Level");
      Class<?> configurator = Class.forName("org.apache.logging.log4j.core.config.Configurator");
      Method setLevel = configurator.getMethod("setLevel", String.class, level);
      setLevel.invoke(null, CLIENTS, level.getField("ERROR").get(null));
    } catch (Throwable otherLogging) { // then its owner decides
    }
  }
}
