package io.sparkfuse.spark.listener;

import io.sparkfuse.spark.safety.PluginLog;
import java.util.Collection;
import java.util.Collections;
import java.util.Map;

/**
 * Finds the streaming queries of this driver by reflection, because the plugin's build has no Spark
 * SQL.
 */
public final class StreamingQueries {
  private static final String PROCESSING_TIME = "ProcessingTimeTrigger";

  // Spark 4 moved the driver's session class to another package.
  private static final String[] SESSIONS = {
    "org.apache.spark.sql.classic.SparkSession", "org.apache.spark.sql.SparkSession"
  };

  /** Returns how many streaming queries are running; 0 if this driver has no session. */
  public int running() {
    return queries().size();
  }

  /**
   * Returns an action that calls {@code stop} of the running query with this run id; null if there
   * is none.
   */
  public Runnable stopOf(String runId) {
    Object query = running(runId);
    return query == null ? null : () -> ScalaAccess.get(query, "stop");
  }

  /**
   * Returns the interval of the trigger of the running query with this run id [ms]; 0 if its
   * batches follow each other without a pause, and -1 if it has another trigger or does not run.
   */
  static long triggerIntervalMs(String runId) {
    Object trigger = ScalaAccess.get(running(runId), "trigger");
    boolean processingTime =
        trigger != null && PROCESSING_TIME.equals(trigger.getClass().getSimpleName());
    return processingTime ? ScalaAccess.number(trigger, "intervalMs", -1) : -1;
  }

  private static Object running(String runId) {
    for (Object query : queries()) {
      if (runId.equals(ScalaAccess.text(query, "runId"))) {
        return query;
      }
    }
    return null;
  }

  /** Returns the running queries of all sessions, from a map in Spark's shared state. */
  private static Collection<?> queries() {
    Object active =
        ScalaAccess.get(ScalaAccess.get(session(), "sharedState"), "activeStreamingQueries");
    return active instanceof Map ? ((Map<?, ?>) active).values() : Collections.emptyList();
  }

  private static Object session() {
    for (String name : SESSIONS) {
      try {
        ClassLoader loader = Thread.currentThread().getContextClassLoader();
        Object companion = Class.forName(name + "$", false, loader).getField("MODULE$").get(null);
        Object session = ScalaAccess.option(ScalaAccess.get(companion, "getDefaultSession"));
        if (session == null) {
          session = ScalaAccess.option(ScalaAccess.get(companion, "getActiveSession"));
        }
        if (session != null) {
          return session;
        }
      } catch (ClassNotFoundException other) { // another version of Spark, or no Spark SQL
      } catch (Throwable fault) {
        PluginLog.warnOncePerMinute("the streaming queries cannot be listed", fault);
      }
    }
    return null;
  }
}
