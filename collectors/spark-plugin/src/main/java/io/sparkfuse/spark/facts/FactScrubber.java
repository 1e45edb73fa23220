package io.sparkfuse.spark.facts;

import io.sparkfuse.contracts.ApplicationStarted;
import io.sparkfuse.contracts.Fact;
import io.sparkfuse.contracts.JobStarted;
import java.util.LinkedHashMap;
import java.util.Map;

/** The gate in front of serialisation: scrubs and caps every field of free text that a fact has. */
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
      case JOB_ENDED:
        if (fact.getJobEnded().hasFailureReason()) {
          String reason = fact.getJobEnded().getFailureReason();
          fact.getJobEndedBuilder().setFailureReason(SecretScrubber.scrub(reason));
        }
        break;
      case SQL_STARTED:
        if (fact.getSqlStarted().hasDescription()) {
          String description = fact.getSqlStarted().getDescription();
          fact.getSqlStartedBuilder().setDescription(SecretScrubber.scrubQuery(description));
        }
        break;
      case SQL_ENDED:
        if (fact.getSqlEnded().hasFailureReason()) {
          String reason = fact.getSqlEnded().getFailureReason();
          fact.getSqlEndedBuilder().setFailureReason(SecretScrubber.scrub(reason));
        }
        break;
      case STAGE_STARTED:
        String name = fact.getStageStarted().getName();
        fact.getStageStartedBuilder().setName(SecretScrubber.scrub(name));
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
      default: // the other kinds carry names and numbers only
    }
  }

  private static void scrub(ApplicationStarted.Builder application) {
    application.setName(SecretScrubber.scrub(application.getName()));
    application.setMaster(SecretScrubber.scrub(application.getMaster()));
    Map<String, String> properties = new LinkedHashMap<>();
    application
        .getPropertiesMap()
        .forEach((key, value) -> properties.put(key, SecretScrubber.scrub(value)));
    application.clearProperties().putAllProperties(properties);
  }

  private static void scrub(JobStarted.Builder job) {
    if (job.hasDescription()) {
      job.setDescription(SecretScrubber.scrubQuery(job.getDescription()));
    }
    if (job.hasJobGroup()) {
      job.setJobGroup(SecretScrubber.scrub(job.getJobGroup()));
    }
  }
}
