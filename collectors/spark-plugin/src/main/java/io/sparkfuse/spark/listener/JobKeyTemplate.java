package io.sparkfuse.spark.listener;

import io.sparkfuse.contracts.SparkConfiguration;
import io.sparkfuse.spark.facts.SecretScrubber;
import io.sparkfuse.spark.safety.PluginLog;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.SparkConf;

/**
 * Replaces the placeholders of {@code spark.sparkfuse.job}, so that an application that serves many
 * tables is one job for each table.
 *
 * <p>{@code {spark.some.key}} is the value of a setting, {@code {arg:--table}} the value of an
 * argument of the application. The result replaces the setting before Spark writes its event log,
 * so readers of the event log see the same job.
 */
public final class JobKeyTemplate {
  private static final String KEY = "spark.sparkfuse.job";
  private static final Pattern PLACEHOLDER = Pattern.compile("\\{([^{}]{1,200})\\}");
  private static final String ARGUMENT = "arg:";
  private static final int MOST_CHARS = 100;

  /** Takes the place of a value that is not set. */
  static final String UNSET = "unset";

  private JobKeyTemplate() {}

  /** Replaces the placeholders in the configuration; {@code command} is the command of the JVM. */
  public static void resolve(SparkConf conf, String command) {
    String template = conf.get(KEY, "");
    if (PLACEHOLDER.matcher(template).find()) {
      conf.set(KEY, resolved(template, conf, command));
    }
  }

  private static String resolved(String template, SparkConf conf, String command) {
    Matcher matcher = PLACEHOLDER.matcher(template);
    StringBuffer text = new StringBuffer(); // Java 8 has no appendReplacement for StringBuilder
    while (matcher.find()) {
      String name = matcher.group(1).trim();
      String value = SparkConfiguration.isSecret(name) ? null : valueOf(name, conf, command);
      if (value == null || value.trim().isEmpty()) {
        PluginLog.warn(
            "Sparkfuse: " + KEY + " needs {" + name + "}, which is not set or may be a secret");
        value = UNSET;
      }
      String printed = SecretScrubber.scrub(value.trim());
      printed = printed.substring(0, Math.min(printed.length(), MOST_CHARS));
      matcher.appendReplacement(text, Matcher.quoteReplacement(printed));
    }
    matcher.appendTail(text);
    return text.toString();
  }

  private static String valueOf(String name, SparkConf conf, String command) {
    if (!name.startsWith(ARGUMENT)) {
      return conf.get(name, null);
    }
    String argument = name.substring(ARGUMENT.length());
    String[] words = command.split("\\s+");
    // The last occurrence applies, as in most programs; spark-submit's own options come first.
    for (int place = words.length - 1; place >= 0; place--) {
      if (words[place].startsWith(argument + "=")) {
        return words[place].substring(argument.length() + 1);
      }
      if (words[place].equals(argument) && place + 1 < words.length) {
        return words[place + 1];
      }
    }
    return null;
  }
}
