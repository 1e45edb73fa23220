package io.sparkfuse.windows.application;

import io.sparkfuse.windows.wire.ApplicationState;

/**
 * Time as one application sees it: the sum of the windows of which it or the pipeline's clock told.
 *
 * <p>Silence is measured with it and not with times of windows: while broker or job are away no
 * window is told, so nothing falls silent, and all of it depends on facts alone.
 */
final class ObservedTime {
  private long watchedMs;
  private long heardMs;
  private long lastWindowMs;

  static ObservedTime restore(ApplicationState saved) {
    ObservedTime clock = new ObservedTime();
    clock.watchedMs = saved.getWatchedMs();
    clock.heardMs = saved.getHeardMs();
    clock.lastWindowMs = saved.getLastWindowMs();
    return clock;
  }

  void save(ApplicationState.Builder state) {
    state.setWatchedMs(watchedMs).setHeardMs(heardMs).setLastWindowMs(lastWindowMs);
  }

  /** One window more; says false of one that passed before, which moves nothing. */
  boolean pass(long windowEndMs, long windowMs, boolean heard) {
    if (windowEndMs <= lastWindowMs) {
      return false;
    }
    lastWindowMs = windowEndMs;
    watchedMs += windowMs;
    heardMs += heard ? windowMs : 0;
    return true;
  }

  /** All windows so far. [ms] */
  long watchedMs() {
    return watchedMs;
  }

  /** Of these: windows in which anything came of the application. [ms] */
  long heardMs() {
    return heardMs;
  }
}
