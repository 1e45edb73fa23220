package io.sparkfuse.spark.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sparkfuse.spark.settings.PluginSettings;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Properties;
import org.apache.kafka.common.security.scram.ScramLoginModule;
import org.apache.spark.SparkConf;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class KafkaClientSettingsTest {
  private static Properties producer(String file) {
    return producer(new SparkConf(false).set("spark.sparkfuse.kafka.configFile", file));
  }

  private static Properties producer(SparkConf conf) {
    return KafkaClientSettings.producer(PluginSettings.of(conf), "test", 4 << 20);
  }

  @Test
  void guarantee_05_fileCannotChangeLimits(@TempDir Path folder) throws Exception {
    Path file = folder.resolve("client.properties");
    Files.write(
        file,
        Arrays.asList(
            "security.protocol=SSL",
            "compression.type=zstd",
            "max.block.ms=60000",
            "buffer.memory=1073741824",
            "delivery.timeout.ms=2000000000",
            "acks=0",
            "enable.idempotence=false"));
    Properties all = producer(file.toString());

    assertEquals("SSL", all.get("security.protocol"));
    assertEquals("zstd", all.get("compression.type"));
    assertTrue(Long.parseLong(all.getProperty("max.block.ms")) <= 200);
    assertTrue(Long.parseLong(all.getProperty("buffer.memory")) <= 16 << 20);
    assertTrue(Long.parseLong(all.getProperty("delivery.timeout.ms")) <= 3_600_000);
    assertEquals("all", all.get("acks"));
    assertEquals("true", all.get("enable.idempotence"));
  }

  @Test
  void loginModuleOfTheFileIsUsed(@TempDir Path folder) throws Exception {
    String module = ScramLoginModule.class.getName();
    Path file = folder.resolve("client.properties");
    Files.write(
        file,
        Arrays.asList("sasl.jaas.config=" + module + " required username=\"a\" password=\"b\";"));

    assertEquals(
        module + " required username=\"a\" password=\"b\";",
        producer(file.toString()).get("sasl.jaas.config"));
  }

  @Test
  void fileProvidesBrokersIfNoSettingDoes(@TempDir Path folder) throws Exception {
    Path file = folder.resolve("client.properties");
    Files.write(file, Arrays.asList("bootstrap.servers=elsewhere:1"));

    SparkConf both =
        new SparkConf(false)
            .set("spark.sparkfuse.kafka.configFile", file.toString())
            .set("spark.sparkfuse.kafka.bootstrap", "here:1");

    assertEquals("127.0.0.1:19092", producer("").get("bootstrap.servers"));
    assertEquals("elsewhere:1", producer(file.toString()).get("bootstrap.servers"));
    assertEquals("here:1", producer(both).get("bootstrap.servers"));
  }

  @Test
  void fallbackHasFileOfFirstClusterOrItsOwn(@TempDir Path folder) throws Exception {
    Path first = folder.resolve("first.properties");
    Files.write(first, Arrays.asList("bootstrap.servers=first:1", "security.protocol=SSL"));
    Path own = folder.resolve("own.properties");
    Files.write(own, Arrays.asList("security.protocol=SASL_SSL", "max.block.ms=60000"));
    SparkConf conf =
        new SparkConf(false)
            .set("spark.sparkfuse.kafka.configFile", first.toString())
            .set("spark.sparkfuse.kafka.fallback.bootstrap", "second:1");

    Properties shared = fallback(conf);
    Properties separate =
        fallback(conf.set("spark.sparkfuse.kafka.fallback.configFile", own.toString()));

    assertEquals("second:1", shared.get("bootstrap.servers"));
    assertEquals("SSL", shared.get("security.protocol"));
    assertEquals("second:1", separate.get("bootstrap.servers"));
    assertEquals("SASL_SSL", separate.get("security.protocol"));
    assertEquals("200", separate.get("max.block.ms"));
    assertEquals("first:1", producer(conf).get("bootstrap.servers"));
  }

  private static Properties fallback(SparkConf conf) {
    return KafkaClientSettings.fallbackProducer(PluginSettings.of(conf), "test", 2 << 20);
  }

  @Test
  void guarantee_05_unreadableFileKeepsLimits(@TempDir Path folder) {
    for (String file : new String[] {folder.toString(), folder.resolve("none").toString()}) {
      Properties all = producer(file);

      assertEquals("200", all.getProperty("max.block.ms"));
      assertEquals("131072", all.getProperty("batch.size"));
    }
  }
}
