package io.sparkfuse.windows.stage;

import com.datadoghq.sketch.ddsketch.DDSketch;
import com.google.protobuf.ByteString;
import com.google.protobuf.Descriptors.FieldDescriptor;
import io.sparkfuse.contracts.StageEnded;
import io.sparkfuse.contracts.StageLive;
import io.sparkfuse.contracts.StageStarted;
import io.sparkfuse.windows.StateFormat;
import io.sparkfuse.windows.aggregates.BiggestTaskAggregate;
import io.sparkfuse.windows.aggregates.Failures;
import io.sparkfuse.windows.aggregates.Sketches;
import io.sparkfuse.windows.aggregates.SlowestTaskAggregate;
import io.sparkfuse.windows.wire.BiggestTask;
import io.sparkfuse.windows.wire.SlowestTask;
import io.sparkfuse.windows.wire.StageState;
import io.sparkfuse.windows.wire.StageUpdate;

/** The state of one stage attempt in StageFold, and how a window changes it. */
public final class Stage {
  /** For this long after the end of a stage, task ends and progress can still arrive. [ms] */
  public static final long GRACE_MS = 600_000;

  final StageLive.Builder soFar;
  final StageTasks tasks;
  final DDSketch durations;
  final DDSketch taskBytes;
  final Failures failures;
  BiggestTask biggest;
  SlowestTask slowest;
  Long lastFinishedMs;
  private Long endedAtMs;
  private long cpuNs;
  private long firstSuccesses;
  private long forgetAtMs;
  private boolean startSeen;

  Stage() {
    this(StageState.getDefaultInstance());
  }

  private Stage(StageState saved) {
    soFar = saved.getSoFar().toBuilder();
    tasks = StageTasks.restore(saved);
    durations = Sketches.decode(saved.getDurations().toByteArray());
    taskBytes = Sketches.decode(saved.getTaskBytes().toByteArray());
    failures = Failures.restore(saved.getFailures());
    slowest = saved.hasSlowest() ? saved.getSlowest() : null;
    endedAtMs = saved.hasEndedAtMs() ? saved.getEndedAtMs() : null;
    biggest = saved.hasBiggest() ? saved.getBiggest() : null;
    lastFinishedMs = saved.hasLastFinishedMs() ? saved.getLastFinishedMs() : null;
    cpuNs = saved.getFinishedCpuNs();
    firstSuccesses = saved.getFirstSuccesses();
    forgetAtMs = saved.getForgetAtMs();
    startSeen = saved.getStartSeen();
  }

  /**
   * Restores the saved stage, or creates a new one if the grace period of the saved one is over at
   * {@code nowMs}.
   */
  static Stage restore(StageState saved, long nowMs) {
    StateFormat.require(saved.getStateFormat());
    // The timer that removes the state depends on the watermark, whose progress differs between
    // runs. Comparing times here gives the same result in each run.
    boolean forgotten = saved.hasForgetAtMs() && saved.getForgetAtMs() <= nowMs;
    return forgotten ? new Stage() : new Stage(saved);
  }

  StageState save() {
    StageState.Builder state =
        StageState.newBuilder()
            .setSoFar(soFar)
            .setFinishedCpuNs(cpuNs)
            .setFirstSuccesses(firstSuccesses)
            .setStartSeen(startSeen);
    tasks.save(state);
    if (!durations.isEmpty()) {
      state.setDurations(ByteString.copyFrom(Sketches.encode(durations)));
    }
    if (!taskBytes.isEmpty()) {
      state.setTaskBytes(ByteString.copyFrom(Sketches.encode(taskBytes)));
    }
    if (biggest != null) {
      state.setBiggest(biggest);
    }
    if (slowest != null) {
      state.setSlowest(slowest);
    }
    if (!failures.isEmpty()) {
      state.setFailures(failures.save());
    }
    if (endedAtMs != null) {
      state.setEndedAtMs(endedAtMs);
    }
    if (lastFinishedMs != null) {
      state.setLastFinishedMs(lastFinishedMs);
    }
    if (forgetAtMs > 0) {
      state.setForgetAtMs(forgetAtMs);
    }
    return state.build();
  }

  /** Adds a window and returns the rows that follow from it. */
  StageUpdate fold(StageWindow window) {
    soFar.setStageId(window.stageId()).setStageAttempt(window.stageAttempt());
    add(window);
    start(window.started());
    end(window.ended(), window.endMs());
    tasks.fold(window.tasks(), window.endMs());
    if (hasEnded()) {
      tasks.forgetSilent(window.endMs());
    }
    // A stage without a start is removed when no more of its facts arrive.
    boolean running = soFar.hasSubmittedMs() && !hasEnded();
    forgetAtMs = running ? 0 : window.endMs() + GRACE_MS;
    return new StageRows(this, window).update();
  }

  /** When the state of the stage can be removed; 0 while it runs. [ms since epoch] */
  long forgetAtMs() {
    return forgetAtMs;
  }

  boolean hasEnded() {
    return soFar.hasCompletedMs();
  }

  /**
   * How long ago the stage ended, by the broker's clock only, because the driver's clock can be
   * wrong; null while it runs. [ms]
   */
  Long outlivedMs(long windowEndMs) {
    return endedAtMs == null ? null : Math.max(0, windowEndMs - endedAtMs);
  }

  /** Whether the start of the stage arrived, so that all of its tasks are counted. */
  boolean startSeen() {
    return startSeen;
  }

  /** CPU time of ended tasks. [ns] */
  long cpuNs() {
    return cpuNs;
  }

  /**
   * Whether more successful tasks were counted than the stage has tasks. If so, facts were counted
   * twice.
   */
  boolean isOvercounted() {
    return soFar.hasNumTasks() && firstSuccesses > soFar.getNumTasks();
  }

  /**
   * For a succeeded stage, the share of its tasks whose end arrived; null while it runs or if it
   * failed.
   */
  Double endedShare() {
    if (!"succeeded".equals(soFar.getStatus()) || soFar.getNumTasks() == 0) {
      return null;
    }
    return Math.min(1.0, (double) soFar.getSucceededTasks() / soFar.getNumTasks());
  }

  private void add(StageWindow window) {
    if (!soFar.hasFinishedTasks()) {
      soFar.mergeFrom(StageWindow.ZERO);
    }
    for (FieldDescriptor sum : StageWindow.SUMS) {
      if (window.sums().hasField(sum)) {
        soFar.setField(sum, (Long) soFar.getField(sum) + (Long) window.sums().getField(sum));
      }
    }
    cpuNs += window.cpuNs();
    soFar.setFinishedCpuMs(cpuNs / 1_000_000);
    firstSuccesses += window.firstSuccesses();
    if (window.durationMaxMs() != null) {
      soFar.setDurationMaxMs(Math.max(soFar.getDurationMaxMs(), window.durationMaxMs()));
    }
    if (window.taskBytesMax() != null) {
      soFar.setTaskBytesMax(Math.max(soFar.getTaskBytesMax(), window.taskBytesMax()));
    }
    if (window.durations() != null) {
      durations.mergeWith(window.durations());
    }
    if (window.taskBytes() != null) {
      taskBytes.mergeWith(window.taskBytes());
    }
    biggest = BiggestTaskAggregate.bigger(biggest, window.biggest());
    slowest = SlowestTaskAggregate.slower(slowest, window.slowest());
    failures.add(window.failures());
    if (window.lastFinishedMs() != null) {
      lastFinishedMs =
          lastFinishedMs == null
              ? window.lastFinishedMs()
              : Math.max(lastFinishedMs, window.lastFinishedMs());
    }
  }

  private void start(StageStarted started) {
    if (!soFar.hasStatus()) {
      soFar.setStatus("running");
    }
    if (started == null) {
      return;
    }
    startSeen = true;
    soFar.setNumTasks(started.getNumTasks()).setSubmittedMs(started.getSubmittedMs());
    if (started.hasName()) {
      soFar.setName(started.getName());
    }
    if (started.hasJobId()) {
      soFar.setJobId(started.getJobId());
    }
    if (started.hasSqlExecutionId()) {
      soFar.setSqlExecutionId(started.getSqlExecutionId());
    }
  }

  private void end(StageEnded ended, long windowEndMs) {
    if (ended == null) {
      return;
    }
    endedAtMs = windowEndMs;
    soFar.setStatus(ended.getSucceeded() ? "succeeded" : "failed");
    soFar.setCompletedMs(ended.getCompletedMs());
    if (ended.hasNumTasks()) {
      soFar.setNumTasks(ended.getNumTasks());
    }
    if (ended.hasSubmittedMs()) {
      soFar.setSubmittedMs(ended.getSubmittedMs());
    }
    if (ended.hasFailureReason()) {
      soFar.setFailureReason(ended.getFailureReason());
    }
    if (ended.hasOperatorRowsMax()) {
      soFar.setOperatorRowsMax(ended.getOperatorRowsMax());
    }
    if (ended.hasResultBytes()) {
      soFar.setResultBytes(ended.getResultBytes());
    }
  }
}
