package io.sparkfuse.spark.sampler;

import com.sun.management.UnixOperatingSystemMXBean;
import io.sparkfuse.contracts.ExecutorSample;
import io.sparkfuse.spark.safety.SteadyClock;
import java.lang.management.BufferPoolMXBean;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryUsage;
import java.lang.management.ThreadMXBean;
import java.nio.file.Path;
import java.nio.file.Paths;

/**
 * Reads memory, garbage collection, CPU, buffers, files and threads of this JVM. Used by one
 * thread.
 *
 * <p>Concurrent phases of garbage collection do not count as pauses.
 */
final class JvmGauges {
  private static final Path STATUS = Paths.get("/proc/self/status");
  private final ThreadMXBean threads = ManagementFactory.getThreadMXBean();
  private long gcMsBefore;
  private long takenMs;

  JvmGauges() {
    gcMsBefore = gcMs();
    takenMs = SteadyClock.ms();
  }

  /**
   * Returns one sample, with deltas since the previous sample. {@code nowMs} is a time of {@link
   * SteadyClock}.
   */
  ExecutorSample.Builder sample(long nowMs) {
    MemoryUsage heap = ManagementFactory.getMemoryMXBean().getHeapMemoryUsage();
    MemoryUsage nonHeap = ManagementFactory.getMemoryMXBean().getNonHeapMemoryUsage();
    long gcMs = gcMs();
    ExecutorSample.Builder sample =
        ExecutorSample.newBuilder()
            .setIntervalMs(Math.max(1, nowMs - takenMs))
            .setHeapUsedBytes(heap.getUsed())
            .setHeapMaxBytes(heap.getMax())
            .setNonHeapUsedBytes(nonHeap.getUsed())
            .setGcCount(gcCount())
            .setGcMs(gcMs)
            .setGcDeltaMs(Math.max(0, gcMs - gcMsBefore));
    system(sample);
    buffers(sample);
    sample.setThreads(threads.getThreadCount());
    long resident = ResidentMemory.bytes(STATUS);
    if (resident >= 0) {
      sample.setRssBytes(resident);
    }
    gcMsBefore = gcMs;
    takenMs = nowMs;
    return sample;
  }

  /** Returns the CPU time of a thread in ns, or -1 if it has ended. */
  long threadCpuNs(Thread thread) {
    return threads.isThreadCpuTimeSupported() ? threads.getThreadCpuTime(thread.getId()) : -1;
  }

  private static void system(ExecutorSample.Builder sample) {
    java.lang.management.OperatingSystemMXBean system =
        ManagementFactory.getOperatingSystemMXBean();
    if (system instanceof com.sun.management.OperatingSystemMXBean) {
      sample.setCpuNs(((com.sun.management.OperatingSystemMXBean) system).getProcessCpuTime());
    }
    if (system instanceof UnixOperatingSystemMXBean) {
      UnixOperatingSystemMXBean unix = (UnixOperatingSystemMXBean) system;
      sample
          .setOpenFiles(unix.getOpenFileDescriptorCount())
          .setMaxOpenFiles(unix.getMaxFileDescriptorCount());
    }
  }

  private static void buffers(ExecutorSample.Builder sample) {
    for (BufferPoolMXBean pool : ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class)) {
      if (pool.getName().equals("direct")) {
        sample.setDirectMemoryBytes(pool.getMemoryUsed());
      } else if (pool.getName().startsWith("mapped")) { // two pools: one is for non-volatile memory
        sample.setMappedMemoryBytes(sample.getMappedMemoryBytes() + pool.getMemoryUsed());
      }
    }
  }

  private static long gcMs() {
    long sum = 0;
    for (GarbageCollectorMXBean collector : ManagementFactory.getGarbageCollectorMXBeans()) {
      if (!GcPauses.concurrent(collector.getName())) {
        sum += Math.max(0, collector.getCollectionTime());
      }
    }
    return sum;
  }

  private static long gcCount() {
    long sum = 0;
    for (GarbageCollectorMXBean collector : ManagementFactory.getGarbageCollectorMXBeans()) {
      if (!GcPauses.concurrent(collector.getName())) {
        sum += Math.max(0, collector.getCollectionCount());
      }
    }
    return sum;
  }
}
