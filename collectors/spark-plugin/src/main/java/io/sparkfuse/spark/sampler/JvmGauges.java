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
 * Reads memory, collections, CPU, buffers, files and threads of this JVM. Used by one thread.
 *
 * <p>Collectors that run beside the application do not count as time in collections.
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

  /** One sample; deltas are since the one before. {@code nowMs} is of {@link SteadyClock}. */
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

  /** CPU of a thread so far in nanoseconds, -1 when it is gone. */
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
      } else if (pool.getName().startsWith("mapped")) { // the JVM has a second one for NVM
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
