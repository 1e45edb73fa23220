package io.sparkfuse.spark.sampler;

import com.sun.management.GarbageCollectionNotificationInfo;
import com.sun.management.GcInfo;
import io.sparkfuse.contracts.ExecutorSample;
import io.sparkfuse.contracts.GcPause;
import io.sparkfuse.spark.safety.FaultCounter;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.lang.management.MemoryType;
import java.lang.management.MemoryUsage;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.Set;
import javax.management.Notification;
import javax.management.NotificationEmitter;
import javax.management.NotificationListener;
import javax.management.openmbean.CompositeData;

/**
 * Receives the JVM's notifications of garbage collections and keeps the longest pauses since the
 * last sample. Concurrent phases are not pauses.
 *
 * <p>The JVM calls the listener on a thread of its own, so the callback only copies values.
 */
final class GcPauses implements NotificationListener {
  static final int MAX_PAUSES = 16;

  private final FaultCounter faults;
  private final long jvmStartMs = ManagementFactory.getRuntimeMXBean().getStartTime();
  private final Set<String> heapPools = new HashSet<>();
  private final PriorityQueue<GcPause> longest = new PriorityQueue<>(GcPauses::shorter);
  private int leftOut;

  GcPauses(FaultCounter faults) {
    this.faults = faults;
    for (MemoryPoolMXBean pool : ManagementFactory.getMemoryPoolMXBeans()) {
      if (pool.getType() == MemoryType.HEAP) {
        heapPools.add(pool.getName());
      }
    }
  }

  /** Returns whether a collector's bean reports whole cycles, which run concurrently. */
  static boolean concurrent(String collector) {
    return collector.endsWith("Cycles") || collector.equals("ZGC");
  }

  void listen() {
    for (GarbageCollectorMXBean collector : ManagementFactory.getGarbageCollectorMXBeans()) {
      if (collector instanceof NotificationEmitter && !concurrent(collector.getName())) {
        ((NotificationEmitter) collector).addNotificationListener(this, null, null);
      }
    }
  }

  void stop() {
    for (GarbageCollectorMXBean collector : ManagementFactory.getGarbageCollectorMXBeans()) {
      if (collector instanceof NotificationEmitter) {
        try {
          ((NotificationEmitter) collector).removeNotificationListener(this);
        } catch (javax.management.ListenerNotFoundException neverAdded) { // nothing to remove
        }
      }
    }
  }

  @Override
  public void handleNotification(Notification notification, Object unused) {
    try {
      String type = GarbageCollectionNotificationInfo.GARBAGE_COLLECTION_NOTIFICATION;
      if (notification.getType().equals(type)) {
        CompositeData data = (CompositeData) notification.getUserData();
        ended(GarbageCollectionNotificationInfo.from(data));
      }
    } catch (Throwable fault) { // a fault must not affect the JVM's thread
      faults.caught(fault);
    }
  }

  private void ended(GarbageCollectionNotificationInfo event) {
    // CMS reports its concurrent cycle as a collection without a cause.
    boolean cycle = event.getGcAction().contains("cycle") || event.getGcCause().equals("No GC");
    if (!cycle) {
      GcInfo gc = event.getGcInfo();
      add(
          GcPause.newBuilder()
              .setStartedMs(jvmStartMs + gc.getStartTime())
              .setDurationMs(gc.getDuration())
              .setCollector(event.getGcName())
              .setCause(event.getGcCause())
              .setHeapBeforeBytes(heap(gc.getMemoryUsageBeforeGc()))
              .setHeapAfterBytes(heap(gc.getMemoryUsageAfterGc()))
              .build());
    }
  }

  synchronized void add(GcPause pause) {
    longest.add(pause);
    if (longest.size() > MAX_PAUSES) {
      longest.poll();
      leftOut++;
    }
  }

  /** Moves the collected pauses into a sample, longest first. */
  synchronized void moveTo(ExecutorSample.Builder sample) {
    List<GcPause> pauses = new ArrayList<>(longest);
    pauses.sort((one, other) -> shorter(other, one));
    sample
        .addAllGcPauses(pauses)
        .setGcPauseMaxMs(pauses.isEmpty() ? 0 : pauses.get(0).getDurationMs())
        .setGcPausesLeftOut(leftOut);
    longest.clear();
    leftOut = 0;
  }

  private static int shorter(GcPause one, GcPause other) {
    return Long.compare(one.getDurationMs(), other.getDurationMs());
  }

  private long heap(Map<String, MemoryUsage> pools) {
    long sum = 0;
    for (Map.Entry<String, MemoryUsage> pool : pools.entrySet()) {
      sum += heapPools.contains(pool.getKey()) ? pool.getValue().getUsed() : 0;
    }
    return sum;
  }
}
