package io.sparkfuse.spark.listener;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.sparkfuse.contracts.ApplicationStarted;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.SparkConf;
import org.junit.jupiter.api.Test;

class ApplicationFactsTest {
  @Test
  void onlyListedSettingsAreCopied() {
    SparkConf conf =
        new SparkConf(false)
            .set("spark.app.name", "nightly")
            .set("spark.sparkfuse.owner", "ann")
            .set("spark.executor.memory", "4g")
            .set("spark.sql.adaptive.enabled", "true")
            .set("spark.hadoop.fs.s3a.secret.key", "hunter2")
            .set("spark.executorEnv.API_KEY", "hunter2")
            .set("spark.shuffle.my.password", "hunter2")
            .set("spark.sql.catalog.x.url", "hunter2");
    ApplicationStarted fact = ApplicationFacts.started(conf, "nightly", "etl", "3.5.9", "0.1.0");
    Map<String, String> identity = new HashMap<>();
    identity.put("spark.app.name", "nightly");
    identity.put("spark.sparkfuse.owner", "ann");
    Map<String, String> settings = new HashMap<>();
    settings.put("spark.executor.memory", "4g");
    settings.put("spark.sql.adaptive.enabled", "true");

    assertEquals(identity, fact.getPropertiesMap());
    assertEquals(settings, fact.getConfigurationMap());
  }

  @Test
  void longValueIsCut() {
    String value = String.join("", Collections.nCopies(1_000, "long "));
    SparkConf conf = new SparkConf(false).set("spark.yarn.queue", value);
    ApplicationStarted fact = ApplicationFacts.started(conf, "", "", "", "");

    assertEquals(value.substring(0, 512), fact.getConfigurationOrThrow("spark.yarn.queue"));
  }
}
