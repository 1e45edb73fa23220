package io.sparkfuse.spark.counters;

import io.sparkfuse.contracts.TaskEnded;
import io.sparkfuse.contracts.TaskProgress;

/** The counters of one task, or their sums over several tasks. */
final class TaskTotals {
  long inputBytes;
  long inputRecords;
  long shuffleReadBytes;
  long shuffleReadRecords;
  long shuffleWriteBytes;
  long outputBytes;
  long memorySpilledBytes;
  long diskSpilledBytes;
  long cpuNs;

  static TaskTotals of(TaskEnded task) {
    TaskTotals totals = new TaskTotals();
    totals.inputBytes = task.getInputBytes();
    totals.inputRecords = task.getInputRecords();
    totals.shuffleReadBytes = task.getShuffleReadBytes();
    totals.shuffleReadRecords = task.getShuffleReadRecords();
    totals.shuffleWriteBytes = task.getShuffleWriteBytes();
    totals.outputBytes = task.getOutputBytes();
    totals.memorySpilledBytes = task.getMemorySpilledBytes();
    totals.diskSpilledBytes = task.getDiskSpilledBytes();
    totals.cpuNs = task.getCpuNs();
    return totals;
  }

  static TaskTotals of(TaskProgress task) {
    TaskTotals totals = new TaskTotals();
    totals.inputBytes = task.getInputBytes();
    totals.inputRecords = task.getInputRecords();
    totals.shuffleReadBytes = task.getShuffleReadBytes();
    totals.shuffleReadRecords = task.getShuffleReadRecords();
    totals.shuffleWriteBytes = task.getShuffleWriteBytes();
    totals.outputBytes = task.getOutputBytes();
    totals.memorySpilledBytes = task.getMemorySpilledBytes();
    totals.diskSpilledBytes = task.getDiskSpilledBytes();
    totals.cpuNs = task.getCpuNs();
    return totals;
  }

  void add(TaskTotals other) {
    inputBytes += other.inputBytes;
    inputRecords += other.inputRecords;
    shuffleReadBytes += other.shuffleReadBytes;
    shuffleReadRecords += other.shuffleReadRecords;
    shuffleWriteBytes += other.shuffleWriteBytes;
    outputBytes += other.outputBytes;
    memorySpilledBytes += other.memorySpilledBytes;
    diskSpilledBytes += other.diskSpilledBytes;
    cpuNs += other.cpuNs;
  }
}
