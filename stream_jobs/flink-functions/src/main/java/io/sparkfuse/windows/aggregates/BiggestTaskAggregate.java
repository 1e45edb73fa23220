package io.sparkfuse.windows.aggregates;

import com.google.protobuf.InvalidProtocolBufferException;
import io.sparkfuse.windows.wire.BiggestTask;
import org.apache.flink.table.annotation.DataTypeHint;
import org.apache.flink.table.functions.AggregateFunction;

/**
 * {@code biggest_task(task_index, bytes, ms)}: returns the task with the most bytes as an encoded
 * BiggestTask.
 */
public final class BiggestTaskAggregate
    extends AggregateFunction<byte[], BiggestTaskAggregate.Accumulator> {
  private static final long serialVersionUID = 1L;

  /** The biggest task so far; {@code known} is false before the first one. */
  public static final class Accumulator {
    public boolean known;
    public int index;
    public long size;
    public long ms;

    BiggestTask get() {
      return known ? of(index, size, ms) : null;
    }

    void offer(BiggestTask other) {
      BiggestTask winner = bigger(get(), other);
      if (winner != null) {
        known = true;
        index = winner.getTaskIndex();
        size = winner.getBytes();
        ms = winner.getMs();
      }
    }
  }

  @Override
  public Accumulator createAccumulator() {
    return new Accumulator();
  }

  public void accumulate(Accumulator biggest, Integer index, Long bytes, Long ms) {
    if (index != null && bytes != null && (!biggest.known || bytes >= biggest.size)) {
      biggest.offer(of(index, bytes, ms == null ? 0 : ms));
    }
  }

  public void merge(Accumulator biggest, Iterable<Accumulator> others) {
    for (Accumulator other : others) {
      biggest.offer(other.get());
    }
  }

  @Override
  public @DataTypeHint("BYTES") byte[] getValue(Accumulator biggest) {
    return biggest.known ? biggest.get().toByteArray() : null;
  }

  public static BiggestTask decode(byte[] encoded) throws InvalidProtocolBufferException {
    return encoded == null ? null : BiggestTask.parseFrom(encoded);
  }

  /**
   * Returns the task with more bytes; if equal, the one with more time; if equal, the one with the
   * lower index. Either argument can be null.
   */
  public static BiggestTask bigger(BiggestTask one, BiggestTask other) {
    if (one == null || other == null) {
      return one == null ? other : one;
    }
    if (one.getBytes() != other.getBytes()) {
      return one.getBytes() > other.getBytes() ? one : other;
    }
    if (one.getMs() != other.getMs()) {
      return one.getMs() > other.getMs() ? one : other;
    }
    return one.getTaskIndex() <= other.getTaskIndex() ? one : other;
  }

  public static BiggestTask of(int index, long bytes, long ms) {
    return BiggestTask.newBuilder().setTaskIndex(index).setBytes(bytes).setMs(ms).build();
  }
}
