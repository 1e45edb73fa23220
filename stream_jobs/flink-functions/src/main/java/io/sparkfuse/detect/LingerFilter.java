package io.sparkfuse.detect;

import org.apache.flink.table.api.dataview.MapView;

/**
 * Lets rows of a thing pass while something holds on them, and for a while after.
 *
 * <p>What comes behind sees every row that it could answer to: those on which something holds, and
 * those that follow until a finding of the thing must have resolved. A thing that nothing ever held
 * for is not remembered.
 */
final class LingerFilter {
  private final MapView<String, Long> untilMs;

  /**
   * @param untilMs until which end of a window the rows of a thing pass; kept by whoever asks
   */
  LingerFilter(MapView<String, Long> untilMs) {
    this.untilMs = untilMs;
  }

  /** Whether a row of the window that ended at {@code atMs} passes. */
  boolean passes(String unit, boolean holds, long atMs, long lingerMs) throws Exception {
    Long known = untilMs.get(unit);
    if (holds) {
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

  /** Whether there may be a thing that something holds for. */
  boolean isHeld() throws Exception {
    return !untilMs.isEmpty();
  }
}
