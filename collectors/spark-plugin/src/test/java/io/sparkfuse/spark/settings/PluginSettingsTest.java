package io.sparkfuse.spark.settings;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.sparkfuse.spark.settings.PluginSettings.FuseMode;
import java.util.Collections;
import org.apache.spark.SparkConf;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PluginSettingsTest {
  private static PluginSettings of(String... pairs) {
    SparkConf conf = new SparkConf(false);
    for (int i = 0; i < pairs.length; i += 2) {
      conf.set(pairs[i], pairs[i + 1]);
    }
    return PluginSettings.of(conf, Collections.singletonMap("SPARKFUSE_KAFKA_BOOTSTRAP", "env:1"));
  }

  @Test
  void defaultsCollectAndStopNothing() {
    PluginSettings settings = of();

    assertEquals(true, settings.enabled);
    assertEquals(FuseMode.WARN, settings.fuse);
    assertEquals("env:1", settings.bootstrap);
    assertEquals("sparkfuse.facts", settings.topic("facts"));
    assertEquals(5_000, settings.sampleIntervalMs);
  }

  @Test
  void invalidValuesAreReplacedByDefaults() {
    PluginSettings settings =
        of(
            "spark.sparkfuse.fuse", "kill",
            "spark.sparkfuse.sample.interval", "often",
            "spark.sparkfuse.queue.facts", "-1",
            "spark.sparkfuse.queue.bytes", "much",
            "spark.sparkfuse.fuse.hold", "perhaps",
            "spark.sparkfuse.executor.transport", "pigeon");

    assertEquals(FuseMode.WARN, settings.fuse);
    assertEquals(5_000, settings.sampleIntervalMs);
    assertEquals(20_000, settings.queueFacts);
    assertEquals(23L << 20, settings.queueBytes);
    assertEquals(false, settings.fuseHold);
    assertEquals(PluginSettings.ExecutorTransport.RPC, settings.executorTransport);
  }

  @Test
  void validValuesAreUsed() {
    PluginSettings settings =
        of(
            "spark.sparkfuse.fuse", "Act",
            "spark.sparkfuse.sample.interval", "2s",
            "spark.sparkfuse.kafka.bootstrap", "broker:9092",
            "spark.sparkfuse.queue.bytes", "1m");

    assertEquals(FuseMode.ACT, settings.fuse);
    assertEquals(2_000, settings.sampleIntervalMs);
    assertEquals("broker:9092", settings.bootstrap);
    assertEquals(1 << 20, settings.queueBytes);
  }

  @ParameterizedTest
  @CsvSource({"0.04048,0.04048", "off,0", "'',0", "-1,0", "NaN,0", "Infinity,0", "cheap,0"})
  void priceIsPositiveOrAbsent(String text, double price) {
    assertEquals(price, of("spark.sparkfuse.price.coreHour", text).pricePerCoreHour);
  }

  @Test
  void fallbackNeedsBrokersOfItsOwn() {
    String home = "spark.sparkfuse.kafka.bootstrap";
    String fallback = "spark.sparkfuse.kafka.fallback.bootstrap";

    assertEquals(false, of(home, "a:1").hasFallback());
    assertEquals(false, of(home, "a:1", fallback, "a:1").hasFallback());
    assertEquals(
        false, of(home, "a:1", "spark.sparkfuse.kafka.fallback.configFile", "f").hasFallback());
    assertEquals("b:1", of(home, "a:1", fallback, " b:1 ").fallbackBootstrap);
  }

  @Test
  void mistypedKeyGetsMostSimilarKey() {
    assertEquals(
        "spark.sparkfuse.sample.interval", SettingKeys.nearest("spark.sparkfuse.sampel.intervall"));
  }
}
