package io.sparkfuse.spark.settings;

import io.sparkfuse.spark.safety.PluginLog;
import java.nio.file.InvalidPathException;
import java.nio.file.Paths;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import org.apache.spark.SparkConf;
import org.apache.spark.network.util.ByteUnit;
import org.apache.spark.network.util.JavaUtils;

/**
 * Reads single settings. Never throws: an invalid value is logged with a description of valid
 * values, and the default is used.
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
    } catch (NumberFormatException ignored) { // logged below
    }
    return wrong(key, value, "a whole number of at least " + least, standard);
  }

  long bytes(String key, long standard, long least) {
    String value = text(key, Long.toString(standard));
    try {
      long number = JavaUtils.byteStringAs(value, ByteUnit.BYTE);
      if (number >= least) {
        return number;
      }
    } catch (RuntimeException ignored) { // logged below
    }
    return wrong(key, value, "a size such as 16m, at least " + least + " bytes", standard);
  }

  double share(String key, double standard) {
    String value = text(key, Double.toString(standard));
    try {
      double number = Double.parseDouble(value);
      if (number >= 0 && number <= 1) {
        return number;
      }
    } catch (NumberFormatException ignored) { // logged below
    }
    return wrong(key, value, "a share from 0 to 1", standard);
  }

  double amount(String key, double standard) {
    String value = text(key, Double.toString(standard));
    try {
      double number = Double.parseDouble(value);
      if (number >= 0 && number < Double.POSITIVE_INFINITY) {
        return number;
      }
    } catch (NumberFormatException ignored) { // logged below
    }
    return wrong(key, value, "a number such as 0.04", standard);
  }

  long micros(String key, long standard, long least) {
    String value = text(key, standard + "us");
    try {
      long number = JavaUtils.timeStringAs(value, TimeUnit.MICROSECONDS);
      if (number >= least) {
        return number;
      }
    } catch (RuntimeException ignored) { // logged below
    }
    return wrong(key, value, "a time such as 2ms, at least " + least + "us", standard);
  }

  /** Returns the path of a file that need not exist, or an empty text. */
  String path(String key) {
    String value = text(key, "");
    try {
      Paths.get(value);
      return value;
    } catch (InvalidPathException ignored) { // logged below
      return wrong(key, value, "the path of a file", "");
    }
  }

  long millis(String key, long standard, long least) {
    String value = text(key, standard + "ms");
    try {
      long number = JavaUtils.timeStringAsMs(value);
      if (number >= least) {
        return number;
      }
    } catch (RuntimeException ignored) { // logged below
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
