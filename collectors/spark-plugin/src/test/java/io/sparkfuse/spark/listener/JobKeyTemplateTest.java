package io.sparkfuse.spark.listener;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.apache.spark.SparkConf;
import org.junit.jupiter.api.Test;

class JobKeyTemplateTest {
  private static final String COMMAND =
      "org.apache.spark.deploy.SparkSubmit --conf spark.x=1 ingest.py --table orders --day=2026-11-21";

  private static String resolved(String template, String... settings) {
    SparkConf conf = new SparkConf(false).set("spark.sparkfuse.job", template);
    for (int place = 0; place < settings.length; place += 2) {
      conf.set(settings[place], settings[place + 1]);
    }
    JobKeyTemplate.resolve(conf, COMMAND);
    return conf.get("spark.sparkfuse.job");
  }

  @Test
  void settingsAndArgumentsReplaceTheirPlaceholders() {
    assertEquals(
        "ingest/eu.orders/2026-11-21",
        resolved("ingest/{spark.area}.{arg:--table}/{ arg:--day }", "spark.area", "eu"));
  }

  @Test
  void lastOccurrenceOfAnArgumentApplies() {
    SparkConf conf = new SparkConf(false).set("spark.sparkfuse.job", "{arg:--name}");
    JobKeyTemplate.resolve(conf, "SparkSubmit --name submit job.py --name own");
    assertEquals("own", conf.get("spark.sparkfuse.job"));
  }

  @Test
  void missingValuesAndPossibleSecretsAreUnset() {
    assertEquals(
        "a/unset/unset/unset",
        resolved(
            "a/{spark.missing}/{arg:--missing}/{spark.db.password}", "spark.db.password", "x"));
    assertEquals("unset", resolved("{arg:}"));
  }

  @Test
  void textWithoutPlaceholdersStays() {
    assertEquals("nightly {} orders }{", resolved("nightly {} orders }{"));
    SparkConf none = new SparkConf(false);
    JobKeyTemplate.resolve(none, COMMAND);
    assertEquals("", none.get("spark.sparkfuse.job", ""));
  }

  @Test
  void valuesAreScrubbedAndShortenedAndNotExpandedAgain() {
    assertEquals("{spark.b}", resolved("{spark.a}", "spark.a", "{spark.b}", "spark.b", "x"));
    assertEquals(
        100,
        resolved("{spark.a}", "spark.a", String.join("", java.util.Collections.nCopies(500, "x")))
            .length());
    assertEquals("$1\\", resolved("{spark.a}", "spark.a", "$1\\"));
  }
}
