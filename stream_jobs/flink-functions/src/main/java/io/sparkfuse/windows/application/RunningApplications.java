package io.sparkfuse.windows.application;

import io.sparkfuse.contracts.LiveRow;
import io.sparkfuse.metrics.StepMetrics;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.flink.metrics.MetricGroup;

/** The applications of one parallel instance that had a row in the last minute, as metrics. */
final class RunningApplications {
  /** An application without a row for this long is no longer counted as running [ms]. */
  private static final long SILENT_MS = 60_000;

  private record Seen(long windowEndMs, double completeness) {}

  private final Map<String, Seen> applications = new ConcurrentHashMap<>();
  private volatile long lastWindowEndMs;

  RunningApplications(MetricGroup group) {
    StepMetrics metrics = new StepMetrics(group);
    metrics.gauge("running_applications", () -> running().size());
    metrics.gauge(
        "completeness_ratio",
        () -> running().values().stream().mapToDouble(Seen::completeness).min().orElse(1));
  }

  void row(LiveRow row) {
    if (row.hasApplicationEnded()
        || (row.hasApplication() && row.getApplication().getEndedMs() > 0)) {
      applications.remove(row.getAppId());
    } else if (row.hasApplication()) {
      lastWindowEndMs = Math.max(lastWindowEndMs, row.getWindowEndMs());
      applications.put(row.getAppId(), new Seen(row.getWindowEndMs(), row.getCompleteness()));
    }
  }

  private Map<String, Seen> running() {
    applications.values().removeIf(seen -> seen.windowEndMs() < lastWindowEndMs - SILENT_MS);
    return applications;
  }
}
