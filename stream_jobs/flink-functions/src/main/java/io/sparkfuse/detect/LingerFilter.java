package io.sparkfuse.detect;

import org.apache.flink.table.api.dataview.MapView;

/**
 * Passes the rows of a subject, such as a task, on which a condition matches, and all rows of the
 * subject in its linger time, which is a limited time after the last match.
 *
 * <p>The following steps therefore receive every row that can start, continue or resolve a finding.
 * A subject without a match has no state.
 */
final class LingerFilter {
  private final MapView<String, Long> untilMs;

  /**
   * Creates a filter.
   *
   * @param untilMs for each subject, the end of the last window whose rows pass; the caller's Flink
   *     state
   */
  LingerFilter(MapView<String, Long> untilMs) {
    this.untilMs = untilMs;
  }

  /** Whether a row of the window that ended at {@code atMs} passes. */
  boolean passes(String subject, boolean matches, long atMs, long lingerMs) throws Exception {
    Long known = untilMs.get(subject);
    if (matches) {
      if (known == null || known < atMs + lingerMs) {
        untilMs.put(subject, atMs + lingerMs);
      }
      return true;
    }
    if (known == null) {
      return false;
    }
    if (atMs > known) {
      untilMs.remove(subject);
      return false;
    }
    return true;
  }

  /** Whether at least one subject is still in its linger time. */
  boolean hasMatches() throws Exception {
    return !untilMs.isEmpty();
  }
}
