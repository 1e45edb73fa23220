package io.sparkfuse.spark.settings;

import io.sparkfuse.spark.safety.PluginLog;
import java.util.Locale;
import org.apache.spark.SparkConf;
import org.apache.spark.network.util.ByteUnit;
import org.apache.spark.network.util.JavaUtils;

/**
 * Reads single keys and never throws: a value that cannot be read is named in the log, together
 * with what would be right, and the default takes its place.
 */
final class ConfigurationReader {
  private final SparkConf conf;

  ConfigurationReader(SparkConf conf) {
    this.conf = conf;
  }

  String text(String key, String standard) {
    String value = conf.get(key, standard);
    return value == null ? standard : value.trim();
  }

  boolean flag(String key, boolean standard) {
    String value = text(key, Boolean.toString(standard)).toLowerCase(Locale.ROOT);
    if (value.equals("true") || value.equals("false")) {
      return Boolean.parseBoolean(value);
    }
    return wrong(key, value, "true or false", standard);
  }

  int count(String key, int standard, int least) {
    String value = text(key, Integer.toString(standard));
    try {
      int number = Integer.parseInt(value);
      if (number >= least) {
        return number;
      }
    } catch (NumberFormatException ignored) { // told below
    }
    return wrong(key, value, "a whole number of at least " + least, standard);
  }

  long bytes(String key, long standard) {
    String value = text(key, Long.toString(standard));
    try {
      return JavaUtils.byteStringAs(value, ByteUnit.BYTE);
    } catch (RuntimeException ignored) { // told below
      return wrong(key, value, "a size such as 16m", standard);
    }
  }

  long millis(String key, long standard, long least) {
    String value = text(key, standard + "ms");
    try {
      long number = JavaUtils.timeStringAsMs(value);
      if (number >= least) {
        return number;
      }
    } catch (RuntimeException ignored) { // told below
    }
    return wrong(key, value, "a time such as 5s, at least " + least + "ms", standard);
  }

  <E extends Enum<E>> E choice(String key, Class<E> type, E standard) {
    String value = text(key, standard.name()).toUpperCase(Locale.ROOT);
    for (E each : type.getEnumConstants()) {
      if (each.name().equals(value)) {
        return each;
      }
    }
    StringBuilder right = new StringBuilder("one of");
    for (E each : type.getEnumConstants()) {
      right.append(' ').append(each.name().toLowerCase(Locale.ROOT));
    }
    return wrong(key, value, right.toString(), standard);
  }

  private static <T> T wrong(String key, String value, String right, T standard) {
    PluginLog.warn(
        String.format(
            Locale.ROOT,
            "Sparkfuse: %s=%s is not %s; %s is used",
            key,
            value,
            right,
            String.valueOf(standard).toLowerCase(Locale.ROOT)));
    return standard;
  }
}
