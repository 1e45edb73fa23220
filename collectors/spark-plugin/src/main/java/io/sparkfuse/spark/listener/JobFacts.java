package io.sparkfuse.spark.listener;

import io.sparkfuse.contracts.JobEnded;
import io.sparkfuse.contracts.JobStarted;
import io.sparkfuse.contracts.Limits;
import io.sparkfuse.spark.facts.SecretScrubber;
import java.util.Arrays;
import java.util.List;
import java.util.Properties;
import java.util.stream.Collectors;
import org.apache.spark.scheduler.JobSucceeded$;
import org.apache.spark.scheduler.SparkListenerJobEnd;
import org.apache.spark.scheduler.SparkListenerJobStart;
import org.apache.spark.scheduler.StageInfo;

/** Copies Spark's events about jobs. */
final class JobFacts {
  static final int MAX_STAGES = Limits.MOST_STAGES;
  private static final int MAX_TAGS = 64;
  private static final int MAX_TAG_CHARS = 256;

  private JobFacts() {}

  static JobStarted started(SparkListenerJobStart event) {
    List<Integer> stages =
        ScalaAccess.list(ScalaAccess.get(event, "stageInfos"), MAX_STAGES).stream()
            .map(stage -> ((StageInfo) stage).stageId())
            .collect(Collectors.toList());
    JobStarted.Builder fact =
        JobStarted.newBuilder()
            .setJobId(event.jobId())
            .setSubmittedMs(event.time())
            .addAllStageIds(stages);
    Properties properties = event.properties();
    if (properties != null) {
      copyLabels(properties, fact);
    }
    return fact.build();
  }

  /** Returns whether a job is part of a streaming query. */
  static boolean isStreaming(SparkListenerJobStart event) {
    Properties properties = event.properties();
    return properties != null && properties.getProperty("sql.streaming.queryId") != null;
  }

  static JobEnded ended(SparkListenerJobEnd event) {
    boolean succeeded = event.jobResult() == JobSucceeded$.MODULE$;
    JobEnded.Builder fact =
        JobEnded.newBuilder()
            .setJobId(event.jobId())
            .setCompletedMs(event.time())
            .setSucceeded(succeeded);
    Object failure = succeeded ? null : ScalaAccess.get(event.jobResult(), "exception");
    if (failure instanceof Throwable) {
      fact.setFailureReason(SecretScrubber.cut(String.valueOf(((Throwable) failure).getMessage())));
    }
    return fact.build();
  }

  private static void copyLabels(Properties properties, JobStarted.Builder fact) {
    String callSite = properties.getProperty("callSite.short");
    String description = properties.getProperty("spark.job.description", callSite);
    if (description != null) {
      fact.setDescription(SecretScrubber.cut(description));
    }
    String group = properties.getProperty("spark.jobGroup.id");
    if (group != null) {
      fact.setJobGroup(SecretScrubber.cut(group));
    }
    Long execution = StageFacts.sqlExecution(properties);
    if (execution != null) {
      fact.setSqlExecutionId(execution);
    }
    String tags = properties.getProperty("spark.job.tags"); // since Spark 3.5
    if (tags != null) {
      Arrays.stream(tags.split(",", MAX_TAGS + 1))
          .limit(MAX_TAGS)
          .filter(tag -> !tag.isEmpty() && tag.length() <= MAX_TAG_CHARS)
          .forEach(fact::addJobTags);
    }
  }
}
