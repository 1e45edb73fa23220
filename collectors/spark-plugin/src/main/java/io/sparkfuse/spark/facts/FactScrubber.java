package io.sparkfuse.spark.facts;

import io.sparkfuse.contracts.ApplicationStarted;
import io.sparkfuse.contracts.Fact;
import io.sparkfuse.contracts.JobStarted;
import io.sparkfuse.contracts.SqlPlan;
import io.sparkfuse.contracts.SqlStarted;
import io.sparkfuse.contracts.StageStarted;
import io.sparkfuse.contracts.StreamingProgress;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;

/** Scrubs and limits all free texts of a fact before it is serialised. */
final class FactScrubber {
  private FactScrubber() {}

  static void scrub(Fact.Builder fact) {
    switch (fact.getKindCase()) {
      case APPLICATION_STARTED:
        scrub(fact.getApplicationStartedBuilder());
        break;
      case JOB_STARTED:
        scrub(fact.getJobStartedBuilder());
        break;
      case STAGE_STARTED:
        scrub(fact.getStageStartedBuilder());
        break;
      case SQL_STARTED:
        scrub(fact.getSqlStartedBuilder());
        break;
      case SQL_PLAN:
        scrub(fact.getSqlPlanBuilder());
        break;
      case STREAMING_STARTED:
        if (fact.getStreamingStarted().hasName()) {
          String name = fact.getStreamingStarted().getName();
          fact.getStreamingStartedBuilder().setName(SecretScrubber.scrub(name));
        }
        break;
      case STREAMING_PROGRESS:
        scrub(fact.getStreamingProgressBuilder());
        break;
      default:
        scrubReason(fact);
    }
  }

  private static void scrubReason(Fact.Builder fact) {
    switch (fact.getKindCase()) {
      case JOB_ENDED:
        if (fact.getJobEnded().hasFailureReason()) {
          String reason = fact.getJobEnded().getFailureReason();
          fact.getJobEndedBuilder().setFailureReason(SecretScrubber.scrub(reason));
        }
        break;
      case SQL_ENDED:
        if (fact.getSqlEnded().hasFailureReason()) {
          String reason = fact.getSqlEnded().getFailureReason();
          fact.getSqlEndedBuilder().setFailureReason(SecretScrubber.scrub(reason));
        }
        break;
      case STAGE_ENDED:
        if (fact.getStageEnded().hasFailureReason()) {
          String reason = fact.getStageEnded().getFailureReason();
          fact.getStageEndedBuilder().setFailureReason(SecretScrubber.scrub(reason));
        }
        break;
      case TASK_ENDED:
        if (fact.getTaskEnded().hasFailureReason()) {
          String reason = fact.getTaskEnded().getFailureReason();
          fact.getTaskEndedBuilder().setFailureReason(SecretScrubber.scrub(reason));
        }
        break;
      case EXECUTOR_REMOVED:
        String reason = fact.getExecutorRemoved().getReason();
        fact.getExecutorRemovedBuilder().setReason(SecretScrubber.scrub(reason));
        break;
      case STREAMING_ENDED:
        if (fact.getStreamingEnded().hasFailureReason()) {
          String failure = fact.getStreamingEnded().getFailureReason();
          fact.getStreamingEndedBuilder().setFailureReason(SecretScrubber.scrub(failure));
        }
        break;
      default: // other kinds contain names and numbers only
    }
  }

  private static void scrub(ApplicationStarted.Builder application) {
    application.setName(SecretScrubber.scrub(application.getName()));
    application.setMaster(SecretScrubber.scrub(application.getMaster()));
    Map<String, String> properties = scrubbed(application.getPropertiesMap());
    application.clearProperties().putAllProperties(properties);
    Map<String, String> configuration = scrubbed(application.getConfigurationMap());
    application.clearConfiguration().putAllConfiguration(configuration);
  }

  private static Map<String, String> scrubbed(Map<String, String> settings) {
    Map<String, String> out = new LinkedHashMap<>();
    settings.forEach((key, value) -> out.put(key, SecretScrubber.scrub(value)));
    return out;
  }

  private static void scrub(JobStarted.Builder job) {
    if (job.hasDescription()) {
      job.setDescription(SecretScrubber.scrubQuery(job.getDescription()));
    }
    if (job.hasJobGroup()) {
      job.setJobGroup(SecretScrubber.scrub(job.getJobGroup()));
    }
    List<String> tags = scrubbed(job.getJobTagsList(), SecretScrubber::scrub);
    job.clearJobTags().addAllJobTags(tags);
  }

  private static void scrub(StageStarted.Builder stage) {
    stage.setName(SecretScrubber.scrub(stage.getName()));
    List<String> scopes = scrubbed(stage.getScopeNamesList(), SecretScrubber::scrubQuery);
    stage.clearScopeNames().addAllScopeNames(scopes);
    if (stage.hasCallSite()) {
      stage.setCallSite(SecretScrubber.scrub(stage.getCallSite()));
    }
  }

  private static void scrub(SqlStarted.Builder execution) {
    if (execution.hasDescription()) {
      execution.setDescription(SecretScrubber.scrubQuery(execution.getDescription()));
    }
    List<String> nodes = scrubbed(execution.getPlanNodesList(), SecretScrubber::scrubQuery);
    execution.clearPlanNodes().addAllPlanNodes(nodes);
    if (execution.hasCallSite()) {
      execution.setCallSite(SecretScrubber.scrub(execution.getCallSite()));
    }
  }

  /**
   * Scrubs a plan: the name of a scan can contain a whole query. Metric names need no scrubbing,
   * because they are constants in Spark.
   */
  private static void scrub(SqlPlan.Builder plan) {
    List<String> nodes = scrubbed(plan.getNodeNamesList(), SecretScrubber::scrubQuery);
    plan.clearNodeNames().addAllNodeNames(nodes);
    List<String> details = scrubbed(plan.getNodeDetailsList(), SecretScrubber::scrubQuery);
    plan.clearNodeDetails().addAllNodeDetails(details);
  }

  private static void scrub(StreamingProgress.Builder batch) {
    if (batch.hasName()) {
      batch.setName(SecretScrubber.scrub(batch.getName()));
    }
    List<String> sources = scrubbed(batch.getSourcesList(), SecretScrubber::scrub);
    batch.clearSources().addAllSources(sources);
  }

  private static List<String> scrubbed(List<String> texts, UnaryOperator<String> scrub) {
    List<String> out = new ArrayList<>(texts.size());
    for (String text : texts) {
      out.add(scrub.apply(text));
    }
    return out;
  }
}
