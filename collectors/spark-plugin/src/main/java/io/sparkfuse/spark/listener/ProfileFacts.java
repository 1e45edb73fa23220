package io.sparkfuse.spark.listener;

import io.sparkfuse.contracts.Fact;
import io.sparkfuse.contracts.ResourceProfileAdded;
import java.util.Map;
import org.apache.spark.scheduler.SparkListenerEvent;

/** Copies the requests of a resource profile. Spark gives memory in MiB. */
final class ProfileFacts {
  private static final long MIB = 1L << 20;
  private static final int MAX_RESOURCES = 32;
  private static final int MAX_NAME_CHARS = 128;

  private ProfileFacts() {}

  /**
   * Returns the fact of a new profile; the event has no time, so the caller passes {@code nowMs}.
   */
  static Fact.Builder added(SparkListenerEvent event, long nowMs) {
    Object profile = ScalaAccess.get(event, "resourceProfile");
    ResourceProfileAdded.Builder fact =
        ResourceProfileAdded.newBuilder().setProfileId((int) ScalaAccess.number(profile, "id", -1));
    Object requests = ScalaAccess.get(profile, "executorResourcesJMap");
    if (requests instanceof Map) {
      ((Map<?, ?>) requests).values().forEach(each -> executorResource(each, fact));
    }
    Object ofTasks = ScalaAccess.get(profile, "taskResourcesJMap");
    Object cpus = ofTasks instanceof Map ? ((Map<?, ?>) ofTasks).get("cpus") : null;
    Object amount = ScalaAccess.get(cpus, "amount");
    if (amount instanceof Number) {
      fact.setTaskCpus(((Number) amount).doubleValue());
    }
    return Fact.newBuilder().setEventTimeMs(nowMs).setResourceProfileAdded(fact);
  }

  private static void executorResource(Object resource, ResourceProfileAdded.Builder fact) {
    String name = String.valueOf(ScalaAccess.text(resource, "resourceName"));
    long amount = ScalaAccess.number(resource, "amount", 0);
    switch (name) {
      case "cores":
        fact.setExecutorCores((int) amount);
        break;
      case "memory":
        fact.setExecutorMemoryBytes(amount * MIB);
        break;
      case "memoryOverhead":
        fact.setMemoryOverheadBytes(amount * MIB);
        break;
      case "pyspark.memory":
        fact.setPysparkMemoryBytes(amount * MIB);
        break;
      case "offHeap":
        fact.setOffHeapMemoryBytes(amount * MIB);
        break;
      default:
        if (fact.getResourcesCount() < MAX_RESOURCES && name.length() <= MAX_NAME_CHARS) {
          fact.putResources(name, Long.toString(amount));
        }
    }
  }
}
