package io.sparkfuse.windows;

import io.sparkfuse.windows.wire.SlowestTask;

/** Which of two tasks counts as the slower one, whatever the order in which they come. */
final class SlowestTasks {
  private SlowestTasks() {}

  /** More time, then the lower index; what is left tells apart attempts of one task. */
  static SlowestTask slower(SlowestTask one, SlowestTask other) {
    if (one == null || other == null) {
      return one == null ? other : one;
    }
    return compare(one, other) >= 0 ? one : other;
  }

  private static int compare(SlowestTask one, SlowestTask other) {
    int order = Long.compare(one.getMs(), other.getMs());
    order = order != 0 ? order : Integer.compare(other.getTaskIndex(), one.getTaskIndex());
    order = order != 0 ? order : Boolean.compare(one.hasBytes(), other.hasBytes());
    order = order != 0 ? order : Long.compare(one.getBytes(), other.getBytes());
    order = order != 0 ? order : Long.compare(one.getGcMs(), other.getGcMs());
    order = order != 0 ? order : one.getExecutorId().compareTo(other.getExecutorId());
    return order != 0 ? order : one.getHost().compareTo(other.getHost());
  }
}
