package io.sparkfuse.spark.listener;

import io.sparkfuse.contracts.BlockManagerAdded;
import io.sparkfuse.contracts.BlockManagerRemoved;
import io.sparkfuse.contracts.ExecutorAdded;
import io.sparkfuse.contracts.ExecutorRemoved;
import io.sparkfuse.contracts.Fact;
import io.sparkfuse.spark.facts.SecretScrubber;
import org.apache.spark.scheduler.SparkListenerBlockManagerAdded;
import org.apache.spark.scheduler.SparkListenerBlockManagerRemoved;
import org.apache.spark.scheduler.SparkListenerExecutorAdded;
import org.apache.spark.scheduler.SparkListenerExecutorRemoved;

/** Copies Spark's events about executors and block managers. */
final class ExecutorFacts {
  private ExecutorFacts() {}

  static Fact.Builder added(SparkListenerExecutorAdded event) {
    ExecutorAdded.Builder executor =
        ExecutorAdded.newBuilder()
            .setExecutorId(event.executorId())
            .setHost(event.executorInfo().executorHost())
            .setCores(event.executorInfo().totalCores())
            .setResourceProfileId(event.executorInfo().resourceProfileId())
            .setAddedMs(event.time());
    return Fact.newBuilder().setEventTimeMs(event.time()).setExecutorAdded(executor);
  }

  static Fact.Builder removed(SparkListenerExecutorRemoved event) {
    ExecutorRemoved.Builder executor =
        ExecutorRemoved.newBuilder()
            .setExecutorId(event.executorId())
            .setRemovedMs(event.time())
            .setReason(SecretScrubber.cut(String.valueOf(event.reason())));
    Integer code = ExitCodes.in(event.reason());
    if (code != null) {
      executor.setExitCode(code);
    }
    return Fact.newBuilder().setEventTimeMs(event.time()).setExecutorRemoved(executor);
  }

  static Fact.Builder storeAdded(SparkListenerBlockManagerAdded event) {
    BlockManagerAdded.Builder store =
        BlockManagerAdded.newBuilder()
            .setExecutorId(event.blockManagerId().executorId())
            .setHost(event.blockManagerId().host())
            .setMaxMemoryBytes(event.maxMem())
            .setAddedMs(event.time());
    Object onHeap = ScalaAccess.option(event.maxOnHeapMem());
    if (onHeap != null) {
      store.setMaxOnHeapMemoryBytes(ScalaAccess.number(onHeap, 0));
    }
    Object offHeap = ScalaAccess.option(event.maxOffHeapMem());
    if (offHeap != null) {
      store.setMaxOffHeapMemoryBytes(ScalaAccess.number(offHeap, 0));
    }
    return Fact.newBuilder().setEventTimeMs(event.time()).setBlockManagerAdded(store);
  }

  static Fact.Builder storeRemoved(SparkListenerBlockManagerRemoved event) {
    BlockManagerRemoved.Builder store =
        BlockManagerRemoved.newBuilder()
            .setExecutorId(event.blockManagerId().executorId())
            .setHost(event.blockManagerId().host())
            .setRemovedMs(event.time());
    return Fact.newBuilder().setEventTimeMs(event.time()).setBlockManagerRemoved(store);
  }
}
