package io.sparkfuse.spark.sampler;

import io.sparkfuse.contracts.ExecutorSample;
import io.sparkfuse.spark.listener.ScalaAccess;
import io.sparkfuse.spark.safety.DaemonThreads;
import io.sparkfuse.spark.safety.FaultCounter;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.apache.spark.SparkEnv;

/**
 * Reads how much memory Spark uses for storage and execution.
 *
 * <p>Spark's memory manager needs a lock to answer, and a task can hold this lock while it moves
 * blocks to disk. Because the sampler must not block, a separate thread asks the memory manager. If
 * the answer is late, the fields stay absent.
 */
final class SparkMemory {
  private static final long PATIENCE_MS = 50;

  private final Semaphore requested = new Semaphore(0);
  private final Semaphore answered = new Semaphore(0);
  private final FaultCounter faults;
  private volatile boolean stopped;
  private volatile boolean waiting;
  private volatile long storageBytes;
  private volatile long executionBytes;

  SparkMemory(FaultCounter faults) {
    this.faults = faults;
  }

  void start() {
    DaemonThreads.of("memory", faults, this::run).start();
  }

  void stop() {
    stopped = true;
    requested.release();
  }

  /** Adds the memory use if the memory manager answers in time. */
  void copyTo(ExecutorSample.Builder sample) throws InterruptedException {
    if (!waiting) {
      waiting = true;
      answered.drainPermits();
      requested.release();
    }
    if (answered.tryAcquire(PATIENCE_MS, TimeUnit.MILLISECONDS)) {
      if (storageBytes >= 0) {
        sample.setStorageMemoryUsedBytes(storageBytes);
      }
      if (executionBytes >= 0) {
        sample.setExecutionMemoryUsedBytes(executionBytes);
      }
    }
  }

  private void run() {
    while (!stopped && faults.on()) {
      try {
        requested.acquire();
        read();
      } catch (Throwable fault) {
        faults.caught(fault);
      }
      waiting = false;
      answered.release();
    }
  }

  private void read() {
    storageBytes = -1;
    executionBytes = -1;
    SparkEnv environment = SparkEnv.get();
    if (environment != null) { // SparkEnv is null while Spark stops
      Object manager = ScalaAccess.get(environment, "memoryManager");
      storageBytes = ScalaAccess.number(manager, "storageMemoryUsed", -1);
      executionBytes = ScalaAccess.number(manager, "executionMemoryUsed", -1);
    }
  }
}
