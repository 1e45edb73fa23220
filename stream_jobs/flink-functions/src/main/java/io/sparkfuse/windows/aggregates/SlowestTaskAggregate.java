package io.sparkfuse.windows.aggregates;

import com.google.protobuf.InvalidProtocolBufferException;
import io.sparkfuse.windows.wire.SlowestTask;
import org.apache.flink.api.common.typeutils.SimpleTypeSerializerSnapshot;
import org.apache.flink.api.common.typeutils.TypeSerializerSnapshot;
import org.apache.flink.table.annotation.DataTypeHint;
import org.apache.flink.table.annotation.FunctionHint;
import org.apache.flink.table.data.StringData;
import org.apache.flink.table.functions.AggregateFunction;

/**
 * {@code slowest_task(task_index, ms, bytes, gc_ms, executor_id, host)}: returns the task with the
 * longest duration as an encoded SlowestTask. Rows without an index or a duration are skipped.
 *
 * <p>Text arguments arrive undecoded, because texts are only needed from the few rows that are
 * slower than all earlier rows.
 */
@FunctionHint(
    input = {
      @DataTypeHint("INT"),
      @DataTypeHint("BIGINT"),
      @DataTypeHint("BIGINT"),
      @DataTypeHint("BIGINT"),
      @DataTypeHint(value = "STRING", bridgedTo = StringData.class),
      @DataTypeHint(value = "STRING", bridgedTo = StringData.class)
    },
    accumulator =
        @DataTypeHint(
            value = "RAW",
            bridgedTo = SlowestTaskAggregate.Slowest.class,
            rawSerializer = SlowestTaskAggregate.Serializer.class),
    output = @DataTypeHint("BYTES"))
public final class SlowestTaskAggregate
    extends AggregateFunction<byte[], SlowestTaskAggregate.Slowest> {
  private static final long serialVersionUID = 1L;

  /** The slowest task so far; null before the first one. */
  public static final class Slowest {
    private SlowestTask task;

    void offer(SlowestTask other) {
      task = slower(task, other);
    }
  }

  @Override
  public Slowest createAccumulator() {
    return new Slowest();
  }

  public void accumulate(
      Slowest slowest,
      Integer index,
      Long ms,
      Long bytes,
      Long gcMs,
      StringData executorId,
      StringData host) {
    if (index == null || ms == null || (slowest.task != null && ms < slowest.task.getMs())) {
      return;
    }
    SlowestTask.Builder task = SlowestTask.newBuilder().setTaskIndex(index).setMs(ms);
    if (bytes != null) {
      task.setBytes(bytes);
    }
    if (gcMs != null) {
      task.setGcMs(gcMs);
    }
    if (executorId != null) {
      task.setExecutorId(executorId.toString());
    }
    if (host != null) {
      task.setHost(host.toString());
    }
    slowest.offer(task.build());
  }

  public void merge(Slowest slowest, Iterable<Slowest> others) {
    others.forEach(other -> slowest.offer(other.task));
  }

  @Override
  public byte[] getValue(Slowest slowest) {
    return slowest.task == null ? null : slowest.task.toByteArray();
  }

  public static SlowestTask decode(byte[] encoded) throws InvalidProtocolBufferException {
    return encoded == null ? null : SlowestTask.parseFrom(encoded);
  }

  /**
   * Returns the task with the longer duration; if equal, the one with the lower index. Either
   * argument can be null. Between attempts of one task with equal durations, the other fields
   * decide, so that the result is always the same.
   */
  public static SlowestTask slower(SlowestTask one, SlowestTask other) {
    if (one == null || other == null) {
      return one == null ? other : one;
    }
    return compare(one, other) >= 0 ? one : other;
  }

  private static int compare(SlowestTask one, SlowestTask other) {
    int order = Long.compare(one.getMs(), other.getMs());
    order = order != 0 ? order : Integer.compare(other.getTaskIndex(), one.getTaskIndex());
    order = order != 0 ? order : Boolean.compare(one.hasBytes(), other.hasBytes());
    order = order != 0 ? order : Long.compare(one.getBytes(), other.getBytes());
    order = order != 0 ? order : Long.compare(one.getGcMs(), other.getGcMs());
    order = order != 0 ? order : one.getExecutorId().compareTo(other.getExecutorId());
    return order != 0 ? order : one.getHost().compareTo(other.getHost());
  }

  /** Serializer of the slowest task; empty before the first one. */
  public static final class Serializer extends EncodedSerializer<Slowest> {
    private static final long serialVersionUID = 1L;

    @Override
    byte[] encode(Slowest value) {
      return value.task == null ? new byte[0] : value.task.toByteArray();
    }

    @Override
    Slowest decode(byte[] encoded) throws InvalidProtocolBufferException {
      Slowest slowest = new Slowest();
      slowest.task = encoded.length == 0 ? null : SlowestTask.parseFrom(encoded);
      return slowest;
    }

    @Override
    public Slowest createInstance() {
      return new Slowest();
    }

    @Override
    public TypeSerializerSnapshot<Slowest> snapshotConfiguration() {
      return new Snapshot();
    }

    /** Configuration from which a checkpoint restores the serializer. */
    public static final class Snapshot extends SimpleTypeSerializerSnapshot<Slowest> {
      public Snapshot() {
        super(Serializer::new);
      }
    }
  }
}
