package io.sparkfuse.windows.aggregates;

import com.google.protobuf.InvalidProtocolBufferException;
import io.sparkfuse.contracts.Fact;
import io.sparkfuse.contracts.TaskProgress;
import io.sparkfuse.windows.facts.FactParser;
import io.sparkfuse.windows.wire.TaskChanges;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.flink.api.common.typeutils.SimpleTypeSerializerSnapshot;
import org.apache.flink.api.common.typeutils.TypeSerializerSnapshot;
import org.apache.flink.table.annotation.DataTypeHint;
import org.apache.flink.table.annotation.FunctionHint;
import org.apache.flink.table.functions.AggregateFunction;

/**
 * {@code running_tasks(started_id, launched_ms, ended_id, progress)}: returns starts, ends and the
 * last progress of a stage's task attempts in a window, as encoded TaskChanges. {@code progress} is
 * the undecoded record.
 *
 * <p>Beyond {@link Changes#MAX_TASKS} starts, ends or progress facts, attempts are only counted.
 * The result does not depend on the order in which facts arrive, so a replay gives the same result.
 */
@FunctionHint(
    accumulator =
        @DataTypeHint(
            value = "RAW",
            bridgedTo = RunningTasksAggregate.Changes.class,
            rawSerializer = RunningTasksAggregate.Serializer.class),
    output = @DataTypeHint("BYTES"))
public final class RunningTasksAggregate
    extends AggregateFunction<byte[], RunningTasksAggregate.Changes> {
  private static final long serialVersionUID = 1L;

  /** Starts, ends and progress of the window so far. */
  public static final class Changes {
    static final int MAX_TASKS = 100_000;

    private final TreeMap<Long, Long> started = new TreeMap<>();
    private final TreeSet<Long> ended = new TreeSet<>();
    private final TreeMap<Long, TaskProgress> progress = new TreeMap<>();
    private long untrackedStarted;
    private long untrackedEnded;

    void start(long task, long launchedMs) {
      if (started.size() < MAX_TASKS || started.containsKey(task)) {
        started.put(task, launchedMs);
      } else {
        untrackedStarted++;
      }
    }

    void end(long task) {
      if (ended.size() < MAX_TASKS || ended.contains(task)) {
        ended.add(task);
      } else {
        untrackedEnded++;
      }
    }

    /**
     * Keeps the progress report with the highest task age, because it is the latest report of the
     * task.
     */
    void progress(TaskProgress next) {
      if (progress.size() < MAX_TASKS || progress.containsKey(next.getTaskId())) {
        progress.merge(next.getTaskId(), next, (a, b) -> b.getAgeMs() >= a.getAgeMs() ? b : a);
      }
    }

    void merge(TaskChanges other) {
      for (int place = 0; place < other.getStartedIdsCount(); place++) {
        start(other.getStartedIds(place), other.getLaunchedMs(place));
      }
      other.getEndedIdsList().forEach(this::end);
      other.getProgressList().forEach(this::progress);
      untrackedStarted += other.getUntrackedStarted();
      untrackedEnded += other.getUntrackedEnded();
    }

    TaskChanges save() {
      return TaskChanges.newBuilder()
          .addAllStartedIds(started.keySet())
          .addAllLaunchedMs(started.values())
          .addAllEndedIds(ended)
          .addAllProgress(progress.values())
          .setUntrackedStarted(untrackedStarted)
          .setUntrackedEnded(untrackedEnded)
          .build();
    }
  }

  @Override
  public Changes createAccumulator() {
    return new Changes();
  }

  public void accumulate(
      Changes changes, Long startedId, Long launchedMs, Long endedId, byte[] progress) {
    if (startedId != null) {
      changes.start(startedId, launchedMs == null ? 0 : launchedMs);
    }
    if (endedId != null) {
      changes.end(endedId);
    }
    Fact fact = progress == null ? null : FactParser.parse(progress);
    if (fact != null && fact.hasTaskProgress()) {
      changes.progress(fact.getTaskProgress());
    }
  }

  public void merge(Changes changes, Iterable<Changes> others) {
    for (Changes other : others) {
      changes.merge(other.save());
    }
  }

  @Override
  public byte[] getValue(Changes changes) {
    return changes.save().toByteArray();
  }

  /** Serializer of the changes of a window. */
  public static final class Serializer extends EncodedSerializer<Changes> {
    private static final long serialVersionUID = 1L;

    @Override
    byte[] encode(Changes value) {
      return value.save().toByteArray();
    }

    @Override
    Changes decode(byte[] encoded) throws InvalidProtocolBufferException {
      Changes changes = new Changes();
      changes.merge(TaskChanges.parseFrom(encoded));
      return changes;
    }

    @Override
    public Changes createInstance() {
      return new Changes();
    }

    @Override
    public TypeSerializerSnapshot<Changes> snapshotConfiguration() {
      return new Snapshot();
    }

    /** Configuration from which a checkpoint restores the serializer. */
    public static final class Snapshot extends SimpleTypeSerializerSnapshot<Changes> {
      public Snapshot() {
        super(Serializer::new);
      }
    }
  }
}
