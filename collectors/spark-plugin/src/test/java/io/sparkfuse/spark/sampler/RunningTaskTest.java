package io.sparkfuse.spark.sampler;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sparkfuse.contracts.TaskProgress;
import java.util.function.Consumer;
import org.apache.spark.executor.TaskMetrics;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests the times that the sampler measures since a task last read, wrote or spilled. */
class RunningTaskTest {
  private final TaskMetrics metrics = new TaskMetrics();
  private final RunningTask task = new RunningTask(null, Thread.currentThread());

  @Test
  void spillIsNoProgress() {
    metrics.inputMetrics().incRecordsRead(1);
    metrics.incDiskBytesSpilled(100);
    sample(1_000);
    metrics.incDiskBytesSpilled(30);
    sample(2_000);
    metrics.incDiskBytesSpilled(5);
    sample(3_000);
    TaskProgress progress = sample(4_000);

    assertEquals(3_000, progress.getSinceProgressMs());
    assertEquals(35, progress.getSpilledSinceProgressBytes(), "not the spill before it read");
    assertEquals(1_000, progress.getSinceSpillMs());
    assertEquals(1_000, task.stalledMs(at(4_000)), "spill ends a stall");
  }

  @ParameterizedTest
  @ValueSource(strings = {"input", "output", "shuffle read", "shuffle write"})
  void eachReadAndWriteIsProgress(String kind) {
    sample(1_000);
    metrics.incDiskBytesSpilled(100);
    sample(2_000);
    move(kind).accept(metrics);
    TaskProgress progress = sample(3_000);

    assertEquals(0, progress.getSinceProgressMs());
    assertEquals(0, progress.getSpilledSinceProgressBytes());
    assertEquals(1_000, progress.getSinceSpillMs());
  }

  @Test
  void taskWithoutSpillHasNoLastSpill() {
    sample(1_000);
    TaskProgress progress = sample(61_000);

    assertTrue(progress.hasSpilledSinceProgressBytes());
    assertEquals(60_000, progress.getSinceProgressMs());
    assertFalse(progress.hasSinceSpillMs());
  }

  private static Consumer<TaskMetrics> move(String kind) {
    switch (kind) {
      case "input":
        return metrics -> metrics.inputMetrics().incBytesRead(1);
      case "output":
        return metrics -> metrics.outputMetrics().setRecordsWritten(1);
      case "shuffle read":
        return metrics -> metrics.shuffleReadMetrics().incRecordsRead(1);
      default:
        return metrics -> metrics.shuffleWriteMetrics().incRecordsWritten(1);
    }
  }

  private TaskProgress sample(long ms) {
    task.read(TaskSnapshot.of(metrics), 0, at(ms));
    TaskProgress.Builder progress = TaskProgress.newBuilder();
    task.copyTo(progress, at(ms));
    return progress.build();
  }

  private long at(long ms) {
    return task.startedMs + ms;
  }
}
