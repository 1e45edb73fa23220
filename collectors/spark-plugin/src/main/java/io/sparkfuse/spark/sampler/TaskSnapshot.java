package io.sparkfuse.spark.sampler;

import io.sparkfuse.contracts.TaskProgress;
import io.sparkfuse.spark.listener.ScalaAccess;
import io.sparkfuse.spark.safety.PluginLog;
import java.util.Arrays;
import org.apache.spark.executor.TaskMetrics;
import org.apache.spark.util.AccumulatorV2;

/**
 * The counters of one running task at one time, and a checksum that changes when any of them
 * changes.
 */
final class TaskSnapshot {
  private static final int MAX_ACCUMULATORS = 300;
  private static volatile boolean mergesShuffleReads = true;

  final long memorySpilledBytes;
  final long diskSpilledBytes;
  private final long[] counters;
  private final long mark;

  private TaskSnapshot(TaskMetrics metrics) {
    mergeShuffleReads(metrics);
    memorySpilledBytes = metrics.memoryBytesSpilled();
    diskSpilledBytes = metrics.diskBytesSpilled();
    counters =
        new long[] {
          metrics.inputMetrics().bytesRead(),
          metrics.inputMetrics().recordsRead(),
          metrics.outputMetrics().bytesWritten(),
          metrics.outputMetrics().recordsWritten(),
          metrics.shuffleReadMetrics().totalBytesRead(),
          metrics.shuffleReadMetrics().recordsRead(),
          metrics.shuffleWriteMetrics().bytesWritten(),
          metrics.shuffleWriteMetrics().recordsWritten(),
        };
    long sum = memorySpilledBytes * 31 + diskSpilledBytes;
    for (long counter : counters) {
      sum = sum * 1_000_003 + counter;
    }
    mark = sum * 1_000_003 + operatorMetrics(metrics);
  }

  /** Reads the counters of a running task. */
  static TaskSnapshot of(TaskMetrics metrics) {
    return new TaskSnapshot(metrics);
  }

  /** Returns whether no counter changed since the earlier snapshot. */
  boolean sameAs(TaskSnapshot earlier) {
    return earlier != null && mark == earlier.mark;
  }

  /**
   * Returns whether the task neither read nor wrote since the earlier snapshot. Spill and metrics
   * of operators do not count, because they also grow in a join whose result never ends.
   */
  boolean readAndWroteNothingSince(TaskSnapshot earlier) {
    return earlier != null && Arrays.equals(counters, earlier.counters);
  }

  void copyTo(TaskProgress.Builder progress) {
    progress
        .setMemorySpilledBytes(memorySpilledBytes)
        .setDiskSpilledBytes(diskSpilledBytes)
        .setInputBytes(counters[0])
        .setInputRecords(counters[1])
        .setOutputBytes(counters[2])
        .setOutputRecords(counters[3])
        .setShuffleReadBytes(counters[4])
        .setShuffleReadRecords(counters[5])
        .setShuffleWriteBytes(counters[6])
        .setShuffleWriteRecords(counters[7]);
  }

  /**
   * Merges the counters of the shuffle readers, as Spark itself does every 10 s. Spark's method is
   * private[spark] in Scala and public in bytecode.
   */
  private static void mergeShuffleReads(TaskMetrics metrics) {
    if (!mergesShuffleReads) {
      return;
    }
    try {
      metrics.mergeShuffleReadMetrics();
    } catch (Throwable missing) {
      // Spark itself still merges the counters before each heartbeat
      mergesShuffleReads = false;
      PluginLog.warnOncePerMinute("this version of Spark has no mergeShuffleReadMetrics", missing);
    }
  }

  /** Returns a checksum of the live metrics of SQL operators (rows, bytes to and from Python). */
  private static long operatorMetrics(TaskMetrics metrics) {
    long sum = 0;
    Object accumulators = ScalaAccess.get(metrics, "accumulators");
    for (Object each : ScalaAccess.list(accumulators, MAX_ACCUMULATORS)) {
      if (each.getClass().getSimpleName().equals("SQLMetric")) {
        Object value = ((AccumulatorV2<?, ?>) each).value();
        sum = sum * 31 + ScalaAccess.number(value, 0);
      }
    }
    return sum;
  }
}
