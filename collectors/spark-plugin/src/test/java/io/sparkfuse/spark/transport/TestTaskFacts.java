package io.sparkfuse.spark.transport;

import io.sparkfuse.contracts.Fact;
import io.sparkfuse.contracts.TaskEnded;
import io.sparkfuse.contracts.TaskStarted;
import io.sparkfuse.spark.facts.Lane;
import java.util.Random;

/** Creates task starts and task ends with distinct, realistic values, as for tasks that shuffle. */
final class TestTaskFacts {
  private static final long NOW_MS = 1_700_000_000_000L;
  private final Random random = new Random(7);

  QueuedRecord started(long task) {
    TaskStarted.Builder fact =
        TaskStarted.newBuilder()
            .setStageId((int) (task / 1_000))
            .setStageAttempt(0)
            .setTaskId(task)
            .setTaskIndex((int) (task % 1_000))
            .setTaskAttempt(0)
            .setExecutorId(Long.toString(task % 50))
            .setHost("worker-" + task % 50 + ".cluster.internal")
            .setSpeculative(false)
            .setLaunchedMs(NOW_MS + task / 2)
            .setLocality("PROCESS_LOCAL");
    return out(Lane.BULK, Fact.newBuilder().setTaskStarted(fact), NOW_MS + task / 2);
  }

  QueuedRecord ended(long task, String outcome) {
    long runMs = 20 + random.nextInt(5_000);
    long bytes = random.nextInt(200_000_000);
    TaskEnded.Builder fact =
        TaskEnded.newBuilder()
            .setStageId((int) (task / 1_000))
            .setStageAttempt(0)
            .setTaskId(task)
            .setTaskIndex((int) (task % 1_000))
            .setTaskAttempt(0)
            .setExecutorId(Long.toString(task % 50))
            .setHost("worker-" + task % 50 + ".cluster.internal")
            .setSpeculative(false)
            .setLaunchedMs(NOW_MS + task / 2)
            .setFinishedMs(NOW_MS + task / 2 + runMs)
            .setDurationMs(runMs)
            .setOutcome(outcome)
            .setHasMetrics(true)
            .setRunMs(runMs - random.nextInt(10))
            .setCpuNs(runMs * 900_000 + random.nextInt(1_000_000))
            .setGcMs(random.nextInt(50))
            .setDeserializeMs(random.nextInt(20))
            .setResultBytes(1_000 + random.nextInt(3_000))
            .setPeakExecutionMemoryBytes(1L << 20)
            .setMemorySpilledBytes(0)
            .setDiskSpilledBytes(0)
            .setInputBytes(bytes)
            .setInputRecords(bytes / 100 + random.nextInt(100))
            .setOutputBytes(0)
            .setOutputRecords(0)
            .setShuffleReadBytes(bytes / 3 + random.nextInt(1_000))
            .setShuffleReadRecords(bytes / 300)
            .setFetchWaitMs(random.nextInt(30))
            .setShuffleWriteBytes(bytes / 5 + random.nextInt(1_000))
            .setShuffleWriteRecords(bytes / 200)
            .setResultSerializationMs(random.nextInt(3))
            .setDeserializeCpuNs(random.nextInt(20_000_000))
            .setShuffleWriteNs(random.nextInt(90_000_000))
            .setRemoteShuffleReadBytes(bytes / 4)
            .setRemoteShuffleToDiskBytes(0)
            .setLocalShuffleReadBytes(bytes / 12)
            .setRemoteShuffleBlocks(random.nextInt(200))
            .setLocalShuffleBlocks(random.nextInt(20))
            .setRemoteRequestsMs(random.nextInt(100));
    return out(Lane.RESERVED, Fact.newBuilder().setTaskEnded(fact), NOW_MS + task / 2 + runMs);
  }

  private static QueuedRecord out(Lane lane, Fact.Builder fact, long atMs) {
    fact.setEventTimeMs(atMs);
    return QueuedRecord.fact(lane, fact, fact.buildPartial().getSerializedSize());
  }
}
