package io.sparkfuse.windows.application;

import io.sparkfuse.windows.wire.ApplicationState;

/**
 * The clock of one application: the total length of the windows that had facts of the application
 * or a tick.
 *
 * <p>Durations of silence are measured with this clock. While the broker or the job is not
 * available, there are no windows and the clock does not advance. The clock depends on facts and
 * ticks only.
 */
final class ObservedTime {
  private long observedMs;
  private long activeMs;
  private long lastWindowMs;
  // Length of the window that began last; not saved, because a window begins after each restore.
  private long windowMs;

  static ObservedTime restore(ApplicationState saved) {
    ObservedTime clock = new ObservedTime();
    clock.observedMs = saved.getObservedMs();
    clock.activeMs = saved.getActiveMs();
    clock.lastWindowMs = saved.getLastWindowMs();
    return clock;
  }

  void save(ApplicationState.Builder state) {
    state.setObservedMs(observedMs).setActiveMs(activeMs).setLastWindowMs(lastWindowMs);
  }

  /** Adds a window; returns false and does nothing if the window is not newer than the last. */
  boolean pass(long windowEndMs, long windowMs, boolean active) {
    this.windowMs = windowMs;
    if (windowEndMs <= lastWindowMs) {
      return false;
    }
    lastWindowMs = windowEndMs;
    observedMs += windowMs;
    activeMs += active ? windowMs : 0;
    return true;
  }

  /** Total length of all windows so far. [ms] */
  long observedMs() {
    return observedMs;
  }

  /** Length of the present window. [ms] */
  long windowMs() {
    return windowMs;
  }

  /** Total length of the windows in which any fact of the application arrived. [ms] */
  long activeMs() {
    return activeMs;
  }
}
