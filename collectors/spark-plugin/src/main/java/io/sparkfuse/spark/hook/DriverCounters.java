package io.sparkfuse.spark.hook;

import io.sparkfuse.contracts.Signal;
import io.sparkfuse.spark.counters.StageRegistry;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Set;
import java.util.function.LongSupplier;

/** The counters of this driver, from its registry and from Spark. */
final class DriverCounters implements Counters {
  private final StageRegistry registry;
  private final LongSupplier droppedEvents;
  private final boolean directTransport;
  private final SharedDriver sharedDriver;

  DriverCounters(
      StageRegistry registry,
      LongSupplier droppedEvents,
      boolean directTransport,
      SharedDriver sharedDriver) {
    this.registry = registry;
    this.droppedEvents = droppedEvents;
    this.directTransport = directTransport;
    this.sharedDriver = sharedDriver;
  }

  @Override
  public Observation observe(Signal signal) {
    Observation observed = new Observation();
    observed.droppedEvents = droppedEvents.getAsLong();
    observed.overflowed = registry.forgotten() > 0;
    observed.directTransport = directTransport;
    observed.queryJobs = queryJobs(registry, signal);
    observed.queryOwners = registry.owners(observed.queryJobs).size();
    observed.sharedBy = sharedDriver.reason();
    observed.wider = new LinkedHashMap<>(registry.applicationCounters());
    if (signal.hasQueryId()) {
      observed.wider.putAll(registry.queryCounters(signal.getQueryId()));
    }
    observed.skippedEvents = registry.wasIncomplete();
    observed.progressAgeMs = registry.progressAgeMs();
    if (signal.hasStageId()) {
      int stage = signal.getStageId();
      int attempt = signal.getStageAttempt();
      observed.skippedEvents = registry.isIncomplete(stage, attempt);
      observed.stageJobs = registry.jobsOf(stage);
      observed.stageTasks = registry.runningTasks(stage, attempt);
      observed.progressAgeMs = registry.progressAgeMs(stage, attempt);
      observed.columns = registry.columns(stage, attempt);
      if (signal.hasTaskId()) {
        observed.wider.putAll(registry.taskCounters(stage, attempt, signal.getTaskId()));
      }
    }
    return observed;
  }

  /**
   * Returns the running jobs of the signal's SQL execution or, without one, of its job tag or
   * group.
   */
  static Set<Integer> queryJobs(StageRegistry registry, Signal signal) {
    if (signal.hasQueryId()) {
      return registry.jobsOfExecution(signal.getQueryId());
    }
    return signal.getJobTag().isEmpty()
        ? Collections.emptySet()
        : registry.jobsOfTag(signal.getJobTag());
  }
}
