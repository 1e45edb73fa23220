package io.sparkfuse.spark.counters;

import io.sparkfuse.contracts.TaskEnded;
import io.sparkfuse.contracts.TaskProgress;

/** The counters of one task, or the sum of those of many. */
final class TaskTally {
  long inputBytes;
  long inputRecords;
  long shuffleReadBytes;
  long shuffleReadRecords;
  long shuffleWriteBytes;
  long outputBytes;
  long memorySpilledBytes;
  long diskSpilledBytes;
  long cpuNs;

  static TaskTally of(TaskEnded task) {
    TaskTally tally = new TaskTally();
    tally.inputBytes = task.getInputBytes();
    tally.inputRecords = task.getInputRecords();
    tally.shuffleReadBytes = task.getShuffleReadBytes();
    tally.shuffleReadRecords = task.getShuffleReadRecords();
    tally.shuffleWriteBytes = task.getShuffleWriteBytes();
    tally.outputBytes = task.getOutputBytes();
    tally.memorySpilledBytes = task.getMemorySpilledBytes();
    tally.diskSpilledBytes = task.getDiskSpilledBytes();
    tally.cpuNs = task.getCpuNs();
    return tally;
  }

  static TaskTally of(TaskProgress task) {
    TaskTally tally = new TaskTally();
    tally.inputBytes = task.getInputBytes();
    tally.inputRecords = task.getInputRecords();
    tally.shuffleReadBytes = task.getShuffleReadBytes();
    tally.shuffleReadRecords = task.getShuffleReadRecords();
    tally.shuffleWriteBytes = task.getShuffleWriteBytes();
    tally.outputBytes = task.getOutputBytes();
    tally.memorySpilledBytes = task.getMemorySpilledBytes();
    tally.diskSpilledBytes = task.getDiskSpilledBytes();
    tally.cpuNs = task.getCpuNs();
    return tally;
  }

  void add(TaskTally other) {
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
