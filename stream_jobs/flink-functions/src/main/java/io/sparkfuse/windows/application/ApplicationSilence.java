package io.sparkfuse.windows.application;

import io.sparkfuse.contracts.AppLive;
import io.sparkfuse.windows.wire.ApplicationState;
import io.sparkfuse.windows.wire.LaneSequence;
import io.sparkfuse.windows.wire.SequenceNumbers;

/** How long nothing was heard, nothing moved and nothing ran in one application. */
final class ApplicationSilence {
  /** Processes of an ended application that are silent this long are taken for gone. [ms] */
  static final long GONE_MS = 60_000;

  /** Behind its end so much may still come: what was under way in Kafka, or is sent again. [ms] */
  static final long SETTLES_MS = 60_000;

  /**
   * Processes that never said goodbye and are silent this long are taken for dead. [ms]
   *
   * <p>Longer than a broker's outage, for which the plugins keep their last words; shorter than a
   * night in which somebody is reminded of a driver that was killed.
   */
  static final long DEAD_MS = 3_600_000;

  private static final String DRIVER = "driver-";
  private static final String EXECUTOR = "executor-";

  private final ObservedTime clock;
  // Moments by the clock; null when it never was.
  private Long driverHeard;
  private Long processHeard;
  private Long ended;
  private long idleSince;
  private long moved;

  private ApplicationSilence(ObservedTime clock) {
    this.clock = clock;
  }

  static ApplicationSilence restore(ApplicationState saved, ObservedTime clock) {
    ApplicationSilence silence = new ApplicationSilence(clock);
    silence.driverHeard = saved.hasDriverHeardAt() ? (Long) saved.getDriverHeardAt() : null;
    silence.processHeard = saved.hasProcessHeardAt() ? (Long) saved.getProcessHeardAt() : null;
    silence.ended = saved.hasEndedAt() ? (Long) saved.getEndedAt() : null;
    silence.idleSince = saved.getIdleSince();
    silence.moved = saved.getMovedAt();
    return silence;
  }

  void save(ApplicationState.Builder state) {
    state.setIdleSince(idleSince).setMovedAt(moved);
    if (driverHeard != null) {
      state.setDriverHeardAt(driverHeard);
    }
    if (processHeard != null) {
      state.setProcessHeardAt(processHeard);
    }
    if (ended != null) {
      state.setEndedAt(ended);
    }
  }

  /** Who told anything: plugins speak for their process; a shipper reads what may be long over. */
  void see(SequenceNumbers numbers) {
    for (LaneSequence lane : numbers.getLanesList()) {
      if (lane.getCollector().startsWith(DRIVER)) {
        driverHeard = clock.watchedMs();
        processHeard();
      } else if (lane.getCollector().startsWith(EXECUTOR)) {
        processHeard();
      }
    }
  }

  void processHeard() {
    processHeard = clock.watchedMs();
  }

  /** A job, a stage or a task started, ended or got on. */
  void moved() {
    moved = clock.watchedMs();
  }

  /** No job runs from here on, for all that is known. */
  void idle() {
    idleSince = clock.watchedMs();
  }

  void ended() {
    ended = ended == null ? (Long) clock.watchedMs() : ended;
  }

  /** Whether the application ended so lately that what it told may not be all there yet. */
  boolean endedLately() {
    return ended != null && since(ended) < SETTLES_MS;
  }

  /** Whether no process says anything any more; never so where none ever did, as in a log. */
  boolean isDead() {
    return processHeard != null && since(processHeard) > DEAD_MS;
  }

  /**
   * How long ago the application ended though its processes still speak; null before that, and once
   * they are gone. What they said before their end may come behind it within the same window.
   */
  Long outlivedMs() {
    boolean spokeSince = ended != null && processHeard != null && processHeard > ended;
    boolean gone = spokeSince && since(processHeard) >= GONE_MS;
    return spokeSince && !gone ? (Long) since(ended) : null;
  }

  /**
   * Fills the columns of the application's row. An event log has no word of what runs, so that
   * nothing moves is only said where a plugin watches, and neither that nor that nothing runs where
   * nobody knows whether a job does.
   */
  void fill(AppLive.Builder row, ApplicationJobs jobs) {
    if (ended != null) {
      Long outlivedMs = outlivedMs();
      if (outlivedMs != null) {
        row.setOutlivedMs(outlivedMs);
      }
      return;
    }
    if (driverHeard != null) {
      row.setDriverSilentMs(since(driverHeard));
    }
    if (!jobs.known()) {
      return;
    }
    if (jobs.running() == 0) {
      row.setIdleMs(since(idleSince));
    } else if (driverHeard != null) {
      row.setStalledMs(since(moved));
    }
  }

  private long since(long moment) {
    return Math.max(0, clock.watchedMs() - moment);
  }
}
