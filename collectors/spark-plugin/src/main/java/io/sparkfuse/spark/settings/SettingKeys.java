package io.sparkfuse.spark.settings;

import java.util.Arrays;
import java.util.Collections;
import java.util.List;

/** All keys that the plugin reads; each begins with {@code spark.sparkfuse.}. */
public final class SettingKeys {
  public static final String PREFIX = "spark.sparkfuse.";
  public static final String ENABLED = PREFIX + "enabled";
  public static final String BOOTSTRAP = PREFIX + "kafka.bootstrap";
  public static final String KAFKA_CONFIG_FILE = PREFIX + "kafka.configFile";
  public static final String FALLBACK_BOOTSTRAP = PREFIX + "kafka.fallback.bootstrap";
  public static final String FALLBACK_CONFIG_FILE = PREFIX + "kafka.fallback.configFile";
  public static final String TOPIC_PREFIX = PREFIX + "topic.prefix";
  public static final String CLUSTER = PREFIX + "cluster";
  public static final String TENANT = PREFIX + "tenant";
  public static final String JOB = PREFIX + "job";
  public static final String OWNER = PREFIX + "owner";
  public static final String TEAM = PREFIX + "team";
  public static final String DEADLINE = PREFIX + "deadline";
  public static final String QUEUE_FACTS = PREFIX + "queue.facts";
  public static final String QUEUE_BYTES = PREFIX + "queue.bytes";
  public static final String QUEUE_RESERVED = PREFIX + "queue.reserved";
  public static final String SAMPLE_INTERVAL = PREFIX + "sample.interval";
  public static final String SAMPLE_STACK_AFTER = PREFIX + "sample.stackAfter";
  public static final String SAMPLE_PYTHON_GRACE = PREFIX + "sample.pythonGrace";
  public static final String EXECUTOR_TRANSPORT = PREFIX + "executor.transport";
  public static final String EXECUTOR_PATIENCE = PREFIX + "executor.patience";
  public static final String HEALTH_INTERVAL = PREFIX + "health.interval";
  public static final String SWITCH_FILE = PREFIX + "switchFile";
  public static final String PROTECTION_FREE_HEAP = PREFIX + "protection.leastFreeHeap";
  public static final String PROTECTION_GC_SHARE = PREFIX + "protection.mostGcShare";
  public static final String PROTECTION_CALLBACK = PREFIX + "protection.callbackBudget";
  public static final String PROTECTION_PAUSE = PREFIX + "protection.pause";
  public static final String FUSE = PREFIX + "fuse";
  public static final String FUSE_PUBLIC_KEYS = PREFIX + "fuse.publicKeys";
  public static final String FUSE_POLICIES = PREFIX + "fuse.policies";
  public static final String FUSE_HOLD = PREFIX + "fuse.hold";
  public static final String FUSE_SAFE_POINT = PREFIX + "fuse.safePoint";
  public static final String PRICE_CORE_HOUR = PREFIX + "price.coreHour";

  static final List<String> ALL =
      Collections.unmodifiableList(
          Arrays.asList(
              ENABLED,
              BOOTSTRAP,
              KAFKA_CONFIG_FILE,
              FALLBACK_BOOTSTRAP,
              FALLBACK_CONFIG_FILE,
              TOPIC_PREFIX,
              CLUSTER,
              TENANT,
              JOB,
              OWNER,
              TEAM,
              DEADLINE,
              QUEUE_FACTS,
              QUEUE_BYTES,
              QUEUE_RESERVED,
              SAMPLE_INTERVAL,
              SAMPLE_STACK_AFTER,
              SAMPLE_PYTHON_GRACE,
              EXECUTOR_TRANSPORT,
              EXECUTOR_PATIENCE,
              HEALTH_INTERVAL,
              SWITCH_FILE,
              PROTECTION_FREE_HEAP,
              PROTECTION_GC_SHARE,
              PROTECTION_CALLBACK,
              PROTECTION_PAUSE,
              FUSE,
              FUSE_PUBLIC_KEYS,
              FUSE_POLICIES,
              FUSE_HOLD,
              FUSE_SAFE_POINT,
              PRICE_CORE_HOUR));

  private SettingKeys() {}

  /** Returns the known key with the smallest edit distance. */
  static String nearest(String unknown) {
    String best = ALL.get(0);
    int least = Integer.MAX_VALUE;
    for (String key : ALL) {
      int distance = distance(unknown, key);
      if (distance < least) {
        least = distance;
        best = key;
      }
    }
    return best;
  }

  private static int distance(String left, String right) {
    int[] row = new int[right.length() + 1];
    for (int j = 0; j <= right.length(); j++) {
      row[j] = j;
    }
    for (int i = 1; i <= left.length(); i++) {
      int diagonal = row[0];
      row[0] = i;
      for (int j = 1; j <= right.length(); j++) {
        int swap = diagonal + (left.charAt(i - 1) == right.charAt(j - 1) ? 0 : 1);
        diagonal = row[j];
        row[j] = Math.min(swap, Math.min(row[j], row[j - 1]) + 1);
      }
    }
    return row[right.length()];
  }
}
