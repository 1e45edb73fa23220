package io.sparkfuse.spark.listener;

import java.lang.reflect.Method;
import java.util.Map;
import org.apache.spark.SparkContext;

/** Reads how many events Spark dropped from the plugin's listener queue. */
public final class DroppedEvents {
  private static final String METER = "queue." + SparkfuseListener.QUEUE + ".numDroppedEvents";
  private final SparkContext context;

  public DroppedEvents(SparkContext context) {
    this.context = context;
  }

  /** Returns the count, or -1 if this version of Spark does not provide it. */
  public long count() {
    Object metrics = ScalaAccess.get(ScalaAccess.get(context, "listenerBus"), "metrics");
    Object registry = ScalaAccess.get(metrics, "metricRegistry");
    Object counters = ScalaAccess.get(registry, "getCounters");
    if (!(counters instanceof Map)) {
      return -1;
    }
    Object counter = ((Map<?, ?>) counters).get(METER);
    try {
      Method getCount = counter.getClass().getMethod("getCount");
      return ((Number) getCount.invoke(counter)).longValue();
    } catch (Throwable unknown) { // -1: the caller leaves the field absent
      return -1;
    }
  }
}
