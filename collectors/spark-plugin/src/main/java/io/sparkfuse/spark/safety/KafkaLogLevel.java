package io.sparkfuse.spark.safety;

import java.lang.reflect.Method;

/**
 * Reduces the log output of the Kafka clients, so that they do not fill the job's log while a
 * broker is away. The plugin itself counts and reports the failures of the clients.
 */
public final class KafkaLogLevel {
  private static final String CLIENTS = "io.sparkfuse.shaded.kafka";

  private KafkaLogLevel() {}

  /** Sets the clients' log level to ERROR, if Spark uses Log4j 2 (3.3 and later). */
  public static void errorsOnly() {
    try {
      Class<?> level = Class.forName("org.apache.logging.log4j.Level");
      Class<?> configurator = Class.forName("org.apache.logging.log4j.core.config.Configurator");
      Method setLevel = configurator.getMethod("setLevel", String.class, level);
      setLevel.invoke(null, CLIENTS, level.getField("ERROR").get(null));
    } catch (Throwable otherLogging) {
      // another logging library keeps its configuration
    }
  }
}
