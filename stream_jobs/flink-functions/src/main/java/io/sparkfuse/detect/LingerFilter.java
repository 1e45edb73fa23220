package io.sparkfuse.detect;

import org.apache.flink.table.api.dataview.MapView;

/**
 * Passes the rows of a unit, such as a task, on which a condition matches, and all its rows for
 * some time after the last match.
 *
 * <p>Later steps so receive every row that can start, continue or resolve a finding. Units without
 * a match have no state.
 */
final class LingerFilter {
  private final MapView<String, Long> untilMs;

  /**
   * Creates a filter.
   *
   * @param untilMs for each unit, the end of the last window whose rows pass; state of the caller
   */
  LingerFilter(MapView<String, Long> untilMs) {
    this.untilMs = untilMs;
  }

  /** Whether a row of the window that ended at {@code atMs} passes. */
  boolean passes(String unit, boolean matches, long atMs, long lingerMs) throws Exception {
    Long known = untilMs.get(unit);
    if (matches) {
      if (known == null || known < atMs + lingerMs) {
        untilMs.put(unit, atMs + lingerMs);
      }
      return true;
    }
    if (known == null) {
      return false;
    }
    if (atMs > known) {
      untilMs.remove(unit);
      return false;
    }
    return true;
  }

  /** Whether any unit matched and is still passed. */
  boolean hasMatches() throws Exception {
    return !untilMs.isEmpty();
  }
}
