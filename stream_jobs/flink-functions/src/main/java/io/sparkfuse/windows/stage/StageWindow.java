package io.sparkfuse.windows.stage;

import com.datadoghq.sketch.ddsketch.DDSketch;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.InvalidProtocolBufferException;
import io.sparkfuse.contracts.Fact;
import io.sparkfuse.contracts.StageEnded;
import io.sparkfuse.contracts.StageLive;
import io.sparkfuse.contracts.StageStarted;
import io.sparkfuse.windows.aggregates.BiggestTaskAggregate;
import io.sparkfuse.windows.aggregates.Sketches;
import io.sparkfuse.windows.aggregates.SlowestTaskAggregate;
import io.sparkfuse.windows.facts.FactParser;
import io.sparkfuse.windows.wire.BiggestTask;
import io.sparkfuse.windows.wire.FailedTasks;
import io.sparkfuse.windows.wire.LatestFact;
import io.sparkfuse.windows.wire.LatestFacts;
import io.sparkfuse.windows.wire.SlowestTask;
import io.sparkfuse.windows.wire.TaskChanges;
import java.util.List;
import java.util.Set;
import org.apache.flink.types.Row;

/**
 * One window of one stage attempt: a row of the view stage_windows.
 *
 * @param endMs end of the window [ms since epoch]
 * @param sums values of finished_* and counts of ended tasks, for this window only; zeros are
 *     absent
 * @param durations of succeeded tasks [ms]; null if there are none
 * @param taskBytes of succeeded tasks [bytes]; null if none reported them
 * @param biggest the succeeded task with the most bytes; null if none reported them
 * @param slowest the succeeded task with the longest duration; null if there are none
 */
record StageWindow(
    long endMs,
    int stageId,
    int stageAttempt,
    StageLive sums,
    long cpuNs,
    Long durationMaxMs,
    Long taskBytesMax,
    DDSketch durations,
    DDSketch taskBytes,
    BiggestTask biggest,
    SlowestTask slowest,
    FailedTasks failures,
    Long lastFinishedMs,
    long firstSuccesses,
    TaskChanges tasks,
    StageStarted started,
    StageEnded ended) {

  private static final Set<String> COUNTS =
      Set.of(
          "succeeded_tasks",
          "failed_tasks",
          "killed_tasks",
          "speculative_tasks",
          "fetch_failed_tasks",
          "lost_tasks",
          "resubmitted_tasks");

  /** The columns that are summed over windows; they have the same names in the SQL statement. */
  static final List<FieldDescriptor> SUMS =
      StageLive.getDescriptor().getFields().stream()
          .filter(
              field -> field.getName().startsWith("finished_") || COUNTS.contains(field.getName()))
          .filter(field -> !field.getName().equals("finished_cpu_ms"))
          .toList();

  /** All {@link #SUMS} set to 0. */
  static final StageLive ZERO = zero();

  private static StageLive zero() {
    StageLive.Builder sums = StageLive.newBuilder();
    SUMS.forEach(sum -> sums.setField(sum, 0L));
    return sums.build();
  }

  static StageWindow of(Row row, long endMs) throws InvalidProtocolBufferException {
    StageLive.Builder sums = StageLive.newBuilder();
    for (FieldDescriptor field : SUMS) {
      Long sum = row.getFieldAs(field.getName());
      if (sum != null && sum != 0) {
        sums.setField(field, sum);
      }
    }
    byte[] tasks = row.getFieldAs("tasks");
    byte[] failures = row.getFieldAs("failures");
    byte[] moments = row.getFieldAs("moments");
    StageStarted started = null;
    StageEnded ended = null;
    if (moments != null) {
      for (LatestFact latest : LatestFacts.parseFrom(moments).getLatestList()) {
        Fact fact = FactParser.parse(latest.getFact());
        started = fact.hasStageStarted() ? fact.getStageStarted() : started;
        ended = fact.hasStageEnded() ? fact.getStageEnded() : ended;
      }
    }
    return new StageWindow(
        endMs,
        row.<Integer>getFieldAs("stage_id"),
        row.<Integer>getFieldAs("stage_attempt"),
        sums.build(),
        number(row, "cpu_ns"),
        row.getFieldAs("duration_max_ms"),
        row.getFieldAs("task_bytes_max"),
        sketch(row.getFieldAs("durations")),
        sketch(row.getFieldAs("task_bytes")),
        BiggestTaskAggregate.decode(row.getFieldAs("biggest")),
        SlowestTaskAggregate.decode(row.getFieldAs("slowest")),
        failures == null ? FailedTasks.getDefaultInstance() : FailedTasks.parseFrom(failures),
        row.getFieldAs("last_finished_ms"),
        number(row, "first_successes"),
        tasks == null ? TaskChanges.getDefaultInstance() : TaskChanges.parseFrom(tasks),
        started,
        ended);
  }

  private static long number(Row row, String column) {
    Long value = row.getFieldAs(column);
    return value == null ? 0 : value;
  }

  private static DDSketch sketch(byte[] encoded) {
    return encoded == null ? null : Sketches.decode(encoded);
  }
}
