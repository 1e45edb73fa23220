package io.sparkfuse.spark.counters;

import io.sparkfuse.contracts.TaskEnded;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/**
 * Counts for each task of one stage attempt how often it failed in the same way. Failures beyond
 * the limits are not counted, so the counters can be too low but never too high.
 */
final class SameFailures {
  private static final int MAX_KINDS = 1_000;
  private static final int MAX_REASON_CHARS = 2_000;

  private static final class Kind {
    private int attempts;
    private final Set<String> hosts = new HashSet<>();
  }

  private final Map<String, Kind> kinds = new HashMap<>();
  private Kind most = new Kind();

  /** Counts a failed attempt. */
  void add(TaskEnded task) {
    String name = task.getTaskIndex() + " " + task.getFailureClass() + " " + place(task);
    Kind kind = kinds.get(name);
    if (kind == null && kinds.size() < MAX_KINDS) {
      kind = new Kind();
      kinds.put(name, kind);
    }
    if (kind != null) {
      kind.attempts++;
      kind.hosts.add(task.getHost());
      most = kind.attempts > most.attempts ? kind : most;
    }
  }

  /**
   * Returns the beginning of the failure reason, in which numbers such as ports and attempt ids are
   * replaced. The lines of a Python traceback and the values of the failing record remain.
   */
  private static String place(TaskEnded task) {
    String reason = task.getFailureReason();
    String start =
        reason.length() > MAX_REASON_CHARS ? reason.substring(0, MAX_REASON_CHARS) : reason;
    return start.replaceAll("[0-9]+", "#");
  }

  /** Returns the largest number of attempts of one task that failed in the same way. */
  long attempts() {
    return most.attempts;
  }

  /**
   * Returns the number of hosts on which the attempts that {@link #attempts} counts have failed.
   */
  long hosts() {
    return most.hosts.size();
  }
}
