package io.sparkfuse.spark.listener;

import io.sparkfuse.contracts.TaskEnded;
import org.apache.spark.executor.ShuffleReadMetrics;
import org.apache.spark.executor.TaskMetrics;

/** Copies all metrics of an ended task; metrics that this version of Spark lacks stay absent. */
final class TaskCounters {
  private TaskCounters() {}

  static void copy(TaskMetrics metrics, TaskEnded.Builder fact) {
    fact.setRunMs(metrics.executorRunTime())
        .setCpuNs(metrics.executorCpuTime())
        .setGcMs(metrics.jvmGCTime())
        .setDeserializeMs(metrics.executorDeserializeTime())
        .setDeserializeCpuNs(metrics.executorDeserializeCpuTime())
        .setResultBytes(metrics.resultSize())
        .setResultSerializationMs(metrics.resultSerializationTime())
        .setPeakExecutionMemoryBytes(metrics.peakExecutionMemory())
        .setMemorySpilledBytes(metrics.memoryBytesSpilled())
        .setDiskSpilledBytes(metrics.diskBytesSpilled())
        .setInputBytes(metrics.inputMetrics().bytesRead())
        .setInputRecords(metrics.inputMetrics().recordsRead())
        .setOutputBytes(metrics.outputMetrics().bytesWritten())
        .setOutputRecords(metrics.outputMetrics().recordsWritten())
        .setShuffleWriteBytes(metrics.shuffleWriteMetrics().bytesWritten())
        .setShuffleWriteRecords(metrics.shuffleWriteMetrics().recordsWritten())
        .setShuffleWriteNs(metrics.shuffleWriteMetrics().writeTime());
    shuffleRead(metrics.shuffleReadMetrics(), fact);
    long onHeap = ScalaAccess.number(metrics, "peakOnHeapExecutionMemory", -1);
    if (onHeap >= 0) { // since Spark 4
      fact.setPeakOnHeapExecutionMemoryBytes(onHeap);
    }
    long offHeap = ScalaAccess.number(metrics, "peakOffHeapExecutionMemory", -1);
    if (offHeap >= 0) {
      fact.setPeakOffHeapExecutionMemoryBytes(offHeap);
    }
  }

  private static void shuffleRead(ShuffleReadMetrics read, TaskEnded.Builder fact) {
    fact.setShuffleReadBytes(read.totalBytesRead())
        .setShuffleReadRecords(read.recordsRead())
        .setFetchWaitMs(read.fetchWaitTime())
        .setRemoteShuffleReadBytes(read.remoteBytesRead())
        .setRemoteShuffleToDiskBytes(read.remoteBytesReadToDisk())
        .setLocalShuffleReadBytes(read.localBytesRead())
        .setRemoteShuffleBlocks(read.remoteBlocksFetched())
        .setLocalShuffleBlocks(read.localBlocksFetched());
    long requests = ScalaAccess.number(read, "remoteReqsDuration", -1);
    if (requests >= 0) { // since Spark 3.5
      fact.setRemoteRequestsMs(requests);
    }
    merged(read, fact);
  }

  /** Copies the metrics of push-based shuffle, which exist since Spark 3.5. */
  private static void merged(ShuffleReadMetrics read, TaskEnded.Builder fact) {
    long remote = ScalaAccess.number(read, "remoteMergedBytesRead", -1);
    if (remote < 0) {
      return;
    }
    fact.setMergedShuffleReadBytes(
            remote + Math.max(0, ScalaAccess.number(read, "localMergedBytesRead", 0)))
        .setCorruptMergedChunks(ScalaAccess.number(read, "corruptMergedBlockChunks", 0))
        .setMergedFallbacks(ScalaAccess.number(read, "mergedFetchFallbackCount", 0));
  }
}
