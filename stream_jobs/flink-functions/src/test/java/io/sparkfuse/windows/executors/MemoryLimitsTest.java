package io.sparkfuse.windows.executors;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.sparkfuse.contracts.ApplicationStarted;
import io.sparkfuse.contracts.ResourceProfileAdded;
import io.sparkfuse.windows.wire.ApplicationState;
import org.junit.jupiter.api.Test;

class MemoryLimitsTest {
  private static final long GIB = 1L << 30;
  private static final long MIB = 1L << 20;

  /** The memory overhead is a tenth of the heap, and at least Spark's minimum. */
  @Test
  void computesTheOverheadAsSparkDoes() {
    MemoryLimits limits = on("yarn", null);
    limits.add(profile(0, GIB).build());
    limits.add(profile(1, 10 * GIB).build());

    assertEquals(GIB + 384 * MIB, limits.bytes(0));
    assertEquals(11 * GIB, limits.bytes(1));
  }

  /**
   * The limit is the sum of all memory settings of a resource profile; an explicit overhead is used
   * unchanged.
   */
  @Test
  void sumsTheMemoryOfAProfile() {
    MemoryLimits limits = on("k8s://https://cluster", null);
    limits.add(
        profile(3, 4 * GIB)
            .setMemoryOverheadBytes(MIB)
            .setPysparkMemoryBytes(2 * GIB)
            .setOffHeapMemoryBytes(GIB)
            .build());

    assertEquals(7 * GIB + MIB, limits.bytes(3));
  }

  /**
   * The overhead factor of the application is used, such as 0.4 for Python on Kubernetes; an
   * invalid factor is ignored.
   */
  @Test
  void usesTheFactorOfTheApplication() {
    MemoryLimits python = on("k8s://c", "0.4");
    python.add(profile(0, 10 * GIB).build());
    MemoryLimits broken = on("k8s://c", "much");
    broken.add(profile(0, 10 * GIB).build());

    assertEquals(14 * GIB, python.bytes(0));
    assertEquals(11 * GIB, broken.bytes(0));
  }

  /** The limit is unknown for other masters, or if the resource profile is unknown. */
  @Test
  void isAbsentWithoutALimit() {
    for (String master :
        new String[] {"local[4]", "local-cluster[2,1,1024]", "spark://h:7077", ""}) {
      MemoryLimits limits = on(master, null);
      limits.add(profile(0, GIB).build());

      assertNull(limits.bytes(0), master);
    }
    assertNull(on("yarn", null).bytes(0));
  }

  /** Profiles, master and overhead factor are restored from a checkpoint. */
  @Test
  void isRestoredFromACheckpoint() {
    MemoryLimits limits = on("k8s://c", "0.4");
    limits.add(profile(0, 10 * GIB).build());
    ApplicationState.Builder state = ApplicationState.newBuilder();
    limits.save(state);

    assertEquals(14 * GIB, MemoryLimits.restore(state.build()).bytes(0));
  }

  private static MemoryLimits on(String master, String factor) {
    MemoryLimits limits = MemoryLimits.restore(ApplicationState.getDefaultInstance());
    ApplicationStarted.Builder started = ApplicationStarted.newBuilder().setMaster(master);
    if (factor != null) {
      started.putConfiguration("spark.kubernetes.memoryOverheadFactor", factor);
    }
    limits.add(started.build());
    return limits;
  }

  private static ResourceProfileAdded.Builder profile(int id, long heap) {
    return ResourceProfileAdded.newBuilder().setProfileId(id).setExecutorMemoryBytes(heap);
  }
}
