package io.sparkfuse.windows.executors;

import io.sparkfuse.contracts.ApplicationStarted;
import io.sparkfuse.contracts.ResourceProfileAdded;
import io.sparkfuse.windows.wire.ApplicationState;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The memory limit of an executor, computed as Spark requests it from YARN and Kubernetes
 * (org.apache.spark.resource.ResourceProfile.getResourcesForClusterManager): heap, overhead, Python
 * and off-heap memory. Local and standalone masters set no limit.
 */
final class MemoryLimits {
  static final int MAX_PROFILES = 1_000;
  static final double OVERHEAD_FACTOR = 0.1;
  static final long MIN_OVERHEAD_BYTES = 384L << 20;

  private static final List<String> LIMITING = List.of("yarn", "k8s");

  /** Settings of the overhead factor; the last one that is set applies. */
  private static final List<String> FACTORS =
      List.of("spark.kubernetes.memoryOverheadFactor", "spark.executor.memoryOverheadFactor");

  private final TreeMap<Integer, ResourceProfileAdded> profiles = new TreeMap<>();
  private String master;
  private double overheadFactor;

  static MemoryLimits restore(ApplicationState saved) {
    MemoryLimits limits = new MemoryLimits();
    saved.getProfilesList().forEach(limits::add);
    limits.master = saved.getMaster();
    limits.overheadFactor = saved.hasOverheadFactor() ? saved.getOverheadFactor() : OVERHEAD_FACTOR;
    return limits;
  }

  void save(ApplicationState.Builder state) {
    state.addAllProfiles(profiles.values()).setMaster(master).setOverheadFactor(overheadFactor);
  }

  /**
   * Reads the master and the overhead factor from an application's settings; ignores an invalid
   * factor.
   */
  void add(ApplicationStarted started) {
    master = started.getMaster();
    Map<String, String> configuration = started.getConfigurationMap();
    for (String name : FACTORS) {
      Double factor = share(configuration.get(name));
      overheadFactor = factor == null ? overheadFactor : factor;
    }
  }

  void add(ResourceProfileAdded profile) {
    if (profiles.size() < MAX_PROFILES || profiles.containsKey(profile.getProfileId())) {
      profiles.put(profile.getProfileId(), profile.toBuilder().clearResources().build());
    }
  }

  /**
   * The memory limit of an executor with this resource profile; null if the executor has no limit
   * or the profile is unknown. [bytes]
   */
  Long bytes(int profileId) {
    ResourceProfileAdded profile = profiles.get(profileId);
    boolean limited = LIMITING.stream().anyMatch(master::startsWith);
    if (!limited || profile == null || !profile.hasExecutorMemoryBytes()) {
      return null;
    }
    long heap = profile.getExecutorMemoryBytes();
    long overhead =
        profile.hasMemoryOverheadBytes()
            ? profile.getMemoryOverheadBytes()
            : Math.max((long) (overheadFactor * heap), MIN_OVERHEAD_BYTES);
    return heap + overhead + profile.getPysparkMemoryBytes() + profile.getOffHeapMemoryBytes();
  }

  private static Double share(String text) {
    try {
      double share = text == null ? -1 : Double.parseDouble(text);
      return share > 0 && share <= 100 ? (Double) share : null;
    } catch (NumberFormatException notANumber) {
      return null;
    }
  }
}
