package io.sparkfuse.windows;

import com.google.protobuf.InvalidProtocolBufferException;
import io.sparkfuse.windows.wire.SlowestTask;
import org.apache.flink.api.common.typeutils.SimpleTypeSerializerSnapshot;
import org.apache.flink.api.common.typeutils.TypeSerializerSnapshot;
import org.apache.flink.table.annotation.DataTypeHint;
import org.apache.flink.table.annotation.FunctionHint;
import org.apache.flink.table.data.StringData;
import org.apache.flink.table.functions.AggregateFunction;

/**
 * {@code slowest_task(task_index, ms, bytes, gc_ms, executor_id, host)}: the task that took
 * longest, as an encoded SlowestTask; rows without index or time count nowhere.
 *
 * <p>Takes texts as they are on the wire: of nearly all rows they are never looked at.
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
            bridgedTo = SlowestTaskOf.Slowest.class,
            rawSerializer = SlowestTaskOf.Serializer.class),
    output = @DataTypeHint("BYTES"))
public final class SlowestTaskOf extends AggregateFunction<byte[], SlowestTaskOf.Slowest> {
  private static final long serialVersionUID = 1L;

  /** The slowest so far; null before the first. */
  public static final class Slowest {
    private SlowestTask task;

    void offer(SlowestTask other) {
      task = SlowestTasks.slower(task, other);
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

  static SlowestTask decode(byte[] encoded) throws InvalidProtocolBufferException {
    return encoded == null ? null : SlowestTask.parseFrom(encoded);
  }

  /** State form of the slowest task: nothing before the first. */
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

    /** Lets a checkpoint find the serializer again. */
    public static final class Snapshot extends SimpleTypeSerializerSnapshot<Slowest> {
      public Snapshot() {
        super(Serializer::new);
      }
    }
  }
}
