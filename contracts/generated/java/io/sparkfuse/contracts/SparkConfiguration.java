// Generated from contracts/spark_configuration.yaml; do not edit.
package io.sparkfuse.contracts;

import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;
import java.util.regex.Pattern;

/** The settings of Spark that explain how an application ran, and hold no secret. */
public final class SparkConfiguration {
  private static final String[] KEYS = {
    "spark.broadcast.*",
    "spark.cores.max",
    "spark.decommission.enabled",
    "spark.default.parallelism",
    "spark.driver.cores",
    "spark.driver.maxResultSize",
    "spark.driver.memory",
    "spark.driver.memoryOverhead*",
    "spark.dynamicAllocation.*",
    "spark.excludeOnFailure.*",
    "spark.executor.cores",
    "spark.executor.heartbeatInterval",
    "spark.executor.instances",
    "spark.executor.memory",
    "spark.executor.memoryOverhead*",
    "spark.executor.pyspark.memory",
    "spark.executor.resource.*",
    "spark.files.maxPartitionBytes",
    "spark.files.openCostInBytes",
    "spark.io.compression.*",
    "spark.kryoserializer.buffer*",
    "spark.kubernetes.allocation.*",
    "spark.kubernetes.driver.limit.cores",
    "spark.kubernetes.driver.request.cores",
    "spark.kubernetes.executor.limit.cores",
    "spark.kubernetes.executor.request.cores",
    "spark.kubernetes.memoryOverheadFactor",
    "spark.locality.*",
    "spark.master",
    "spark.maxRemoteBlockSizeFetchToMem",
    "spark.memory.*",
    "spark.network.timeout",
    "spark.python.worker.*",
    "spark.rdd.compress",
    "spark.reducer.*",
    "spark.scheduler.mode",
    "spark.serializer",
    "spark.shuffle.*",
    "spark.speculation*",
    "spark.sql.adaptive.*",
    "spark.sql.autoBroadcastJoinThreshold",
    "spark.sql.broadcastTimeout",
    "spark.sql.cbo.*",
    "spark.sql.codegen.*",
    "spark.sql.execution.arrow.*",
    "spark.sql.files.*",
    "spark.sql.inMemoryColumnarStorage.*",
    "spark.sql.join.*",
    "spark.sql.optimizer.*",
    "spark.sql.orc.*",
    "spark.sql.parquet.*",
    "spark.sql.shuffle.partitions",
    "spark.sql.streaming.minBatchesToRetain",
    "spark.sql.streaming.stateStore.*",
    "spark.stage.maxConsecutiveAttempts",
    "spark.storage.decommission.*",
    "spark.submit.deployMode",
    "spark.task.*",
    "spark.yarn.am.cores",
    "spark.yarn.am.memory*",
    "spark.yarn.maxAppAttempts",
    "spark.yarn.queue",
  };
  private static final Set<String> IDENTITY =
      new HashSet<>(
          Arrays.asList(
              "spark.app.name",
              "spark.databricks.clusterUsageTags.clusterName",
              "spark.databricks.job.id",
              "spark.databricks.job.runId",
              "spark.glue.JOB_NAME",
              "spark.glue.JOB_RUN_ID",
              "spark.kubernetes.driver.label.dag_id",
              "spark.kubernetes.driver.label.owner",
              "spark.kubernetes.driver.label.sparkoperator.k8s.io/app-name",
              "spark.kubernetes.driver.label.sparkoperator.k8s.io/submission-id",
              "spark.kubernetes.driver.label.task_id",
              "spark.kubernetes.driver.label.team",
              "spark.kubernetes.namespace",
              "spark.openlineage.parentJobName",
              "spark.openlineage.parentJobNamespace",
              "spark.openlineage.parentRunId",
              "spark.openlineage.rootParentJobName",
              "spark.openlineage.rootParentJobNamespace",
              "spark.openlineage.rootParentRunId",
              "spark.sparkfuse.deadline",
              "spark.sparkfuse.job",
              "spark.sparkfuse.owner",
              "spark.sparkfuse.team"));
  private static final Pattern NEVER = Pattern.compile("(?i)secret|password|token|credential|access.?key|java.?options|\\.env\\b");

  private SparkConfiguration() {}

  /** Whether a setting of this name says whose run it is. */
  public static boolean identifies(String key) {
    return IDENTITY.contains(key);
  }

  /** Whether a setting of this name may leave the driver. */
  public static boolean allows(String key) {
    for (String each : KEYS) {
      boolean listed =
          each.endsWith("*") ? key.startsWith(each.substring(0, each.length() - 1)) : key.equals(each);
      if (listed) {
        return !NEVER.matcher(key).find();
      }
    }
    return false;
  }
}
