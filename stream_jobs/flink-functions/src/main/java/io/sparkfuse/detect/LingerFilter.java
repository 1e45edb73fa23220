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

  /**
   * Whether a row of the window that ended at {@code atMs} passes.
   *
   * @param incomplete whether the row lacks its beginning; such a row resolves no finding, so while
   *     they come, the linger time does not end
   */
  boolean passes(String subject, boolean matches, boolean incomplete, long atMs, long lingerMs)
      throws Exception {
    Long known = untilMs.get(subject);
    boolean lingers = known != null && atMs <= known;
    if (matches || (lingers && incomplete)) {
      if (known == null || known < atMs + lingerMs) {
        untilMs.put(subject, atMs + lingerMs);
      }
      return true;
    }
    if (known != null && !lingers) {
      untilMs.remove(subject);
    }
    return lingers;
  }

  /** Whether at least one subject is still in its linger time. */
  boolean hasMatches() throws Exception {
    return !untilMs.isEmpty();
  }
}
