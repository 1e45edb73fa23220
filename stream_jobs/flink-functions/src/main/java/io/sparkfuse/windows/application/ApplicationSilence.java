package io.sparkfuse.windows.application;

import io.sparkfuse.contracts.AppLive;
import io.sparkfuse.windows.wire.ApplicationState;
import io.sparkfuse.windows.wire.LaneSequence;
import io.sparkfuse.windows.wire.SequenceNumbers;

/** For how long an application was silent, made no progress, or ran no job. */
final class ApplicationSilence {
  /** Processes of an ended application that are silent for this long count as ended. [ms] */
  static final long GONE_MS = 60_000;

  /** For this long after the end, delayed or resent facts can still arrive. [ms] */
  static final long SETTLES_MS = 60_000;

  /**
   * Processes that did not report their end and are silent for this long count as dead. [ms]
   *
   * <p>Longer than a typical outage of the broker, during which the plugins buffer their facts;
   * short enough to stop repeated notifications about a killed driver.
   */
  static final long DEAD_MS = 3_600_000;

  private static final String DRIVER = "driver-";
  private static final String EXECUTOR = "executor-";

  private final ObservedTime clock;
  // When each of these events last happened, by the clock of the application; null if it never
  // happened.
  private Long driverActive;
  private Long processActive;
  private Long ended;
  private long idleSince;
  private long progressed;

  private ApplicationSilence(ObservedTime clock) {
    this.clock = clock;
  }

  static ApplicationSilence restore(ApplicationState saved, ObservedTime clock) {
    ApplicationSilence silence = new ApplicationSilence(clock);
    silence.driverActive = saved.hasDriverActiveAt() ? (Long) saved.getDriverActiveAt() : null;
    silence.processActive = saved.hasProcessActiveAt() ? (Long) saved.getProcessActiveAt() : null;
    silence.ended = saved.hasEndedAt() ? (Long) saved.getEndedAt() : null;
    silence.idleSince = saved.getIdleSince();
    silence.progressed = saved.getProgressedAt();
    return silence;
  }

  void save(ApplicationState.Builder state) {
    state.setIdleSince(idleSince).setProgressedAt(progressed);
    if (driverActive != null) {
      state.setDriverActiveAt(driverActive);
    }
    if (processActive != null) {
      state.setProcessActiveAt(processActive);
    }
    if (ended != null) {
      state.setEndedAt(ended);
    }
  }

  /** Records which processes are alive: facts of a plugin show this, facts of a shipper do not. */
  void add(SequenceNumbers numbers) {
    for (LaneSequence lane : numbers.getLanesList()) {
      if (lane.getCollector().startsWith(DRIVER)) {
        driverActive = clock.observedMs();
        processActive();
      } else if (lane.getCollector().startsWith(EXECUTOR)) {
        processActive();
      }
    }
  }

  void processActive() {
    processActive = clock.observedMs();
  }

  /** Records that a job, a stage or a task started, ended or made progress. */
  void progressed() {
    progressed = clock.observedMs();
  }

  /** Records that no job runs from now on, as far as known. */
  void idle() {
    idleSince = clock.observedMs();
  }

  void ended() {
    ended = ended == null ? (Long) clock.observedMs() : ended;
  }

  /** Whether the application ended so recently that facts of it can still arrive. */
  boolean endedLately() {
    return ended != null && since(ended) < SETTLES_MS;
  }

  /** Whether all processes count as dead; false if none was ever active, as with an event log. */
  boolean isDead() {
    return processActive != null && since(processActive) > DEAD_MS;
  }

  /** Whether all processes count as dead from the next window on, or do so already. */
  boolean isDying() {
    return processActive != null && since(processActive) + clock.windowMs() > DEAD_MS;
  }

  /**
   * Time since the end of the application if its processes are still active; otherwise null. Facts
   * in the window of the end do not count as activity. [ms]
   */
  Long outlivedMs() {
    boolean spokeSince = ended != null && processActive != null && processActive > ended;
    boolean gone = spokeSince && since(processActive) >= GONE_MS;
    return spokeSince && !gone ? (Long) since(ended) : null;
  }

  /**
   * Sets the columns of the application's row. An event log does not report running tasks, so
   * {@code stalled_ms} needs a plugin. If it is unknown whether a job is running, neither {@code
   * stalled_ms} nor {@code idle_ms} is set.
   */
  void fill(AppLive.Builder row, ApplicationJobs jobs) {
    if (ended != null) {
      Long outlivedMs = outlivedMs();
      if (outlivedMs != null) {
        row.setOutlivedMs(outlivedMs);
      }
      return;
    }
    if (driverActive != null) {
      row.setDriverSilentMs(since(driverActive));
    }
    if (!jobs.known()) {
      return;
    }
    if (jobs.running() == 0) {
      row.setIdleMs(since(idleSince));
    } else if (driverActive != null) {
      row.setStalledMs(since(progressed));
    }
  }

  private long since(long moment) {
    return Math.max(0, clock.observedMs() - moment);
  }
}
