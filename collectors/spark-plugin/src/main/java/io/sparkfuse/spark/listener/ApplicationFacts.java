package io.sparkfuse.spark.listener;

import io.sparkfuse.contracts.ApplicationStarted;
import io.sparkfuse.contracts.SparkConfiguration;
import io.sparkfuse.spark.facts.SecretScrubber;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.SparkConf;
import scala.Tuple2;

/**
 * Describes an application. Only two kinds of configuration keys are copied, so that no secret
 * leaves the JVM: the keys for job identity, and those in the shared list of relevant keys.
 */
final class ApplicationFacts {
  private static final int MAX_CHARS = 512;
  private static final int MAX_SETTINGS = 300;

  private ApplicationFacts() {}

  static ApplicationStarted started(
      SparkConf conf, String name, String user, String sparkVersion, String pluginVersion) {
    return ApplicationStarted.newBuilder()
        .setName(name)
        .setUserName(user)
        .setSparkVersion(sparkVersion)
        .setPluginVersion(pluginVersion)
        .setMaster(conf.get("spark.master", ""))
        .putAllProperties(identity(conf))
        .putAllConfiguration(configuration(conf))
        .build();
  }

  private static Map<String, String> identity(SparkConf conf) {
    Map<String, String> properties = new LinkedHashMap<>();
    for (Tuple2<String, String> pair : conf.getAll()) {
      if (SparkConfiguration.identifies(pair._1())) {
        properties.put(pair._1(), SecretScrubber.shortened(pair._2(), MAX_CHARS));
      }
    }
    return properties;
  }

  private static Map<String, String> configuration(SparkConf conf) {
    Map<String, String> settings = new TreeMap<>();
    for (Tuple2<String, String> pair : conf.getAll()) {
      if (settings.size() < MAX_SETTINGS && SparkConfiguration.allows(pair._1())) {
        settings.put(pair._1(), SecretScrubber.shortened(pair._2(), MAX_CHARS));
      }
    }
    return settings;
  }
}
