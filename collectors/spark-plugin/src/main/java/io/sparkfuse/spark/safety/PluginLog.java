package io.sparkfuse.spark.safety;

import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Writes to Spark's log. Never throws, and logs repeated failures at most once a minute. */
public final class PluginLog {
  static final long QUIET_MS = 60_000;
  private static final int MAX_KINDS = 200;
  private static final Logger LOG = LoggerFactory.getLogger("io.sparkfuse");
  private static final ConcurrentHashMap<String, AtomicLong> LAST = new ConcurrentHashMap<>();

  private PluginLog() {}

  /** Logs a change of state. */
  public static void info(String message) {
    try {
      LOG.info(message);
    } catch (Throwable ignored) {
      // a broken logger must not affect the job
    }
  }

  /** Logs a warning for the owner of the job. */
  public static void warn(String message) {
    try {
      LOG.warn(message);
    } catch (Throwable ignored) {
      // a broken logger must not affect the job
    }
  }

  /** Logs a failure of one kind at most once a minute; {@code cause} may be null. */
  public static void warnOncePerMinute(String kind, Throwable cause) {
    try {
      if (mayLog(kind, SteadyClock.ms())) {
        LOG.warn("Sparkfuse: {}{}", kind, cause == null ? "" : ": " + cause);
      }
    } catch (Throwable ignored) {
      // a broken logger must not affect the job
    }
  }

  static boolean mayLog(String kind, long nowMs) {
    if (LAST.size() > MAX_KINDS) {
      return false;
    }
    AtomicLong last = LAST.computeIfAbsent(kind, k -> new AtomicLong(Long.MIN_VALUE));
    long before = last.get();
    boolean due = before == Long.MIN_VALUE || nowMs - before >= QUIET_MS;
    return due && last.compareAndSet(before, nowMs);
  }
}
