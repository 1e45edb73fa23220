package io.sparkfuse.spark.facts;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import io.sparkfuse.contracts.ApplicationStarted;
import io.sparkfuse.contracts.ExecutorRemoved;
import io.sparkfuse.contracts.Fact;
import io.sparkfuse.contracts.JobEnded;
import io.sparkfuse.contracts.JobStarted;
import io.sparkfuse.contracts.SqlEnded;
import io.sparkfuse.contracts.SqlPlan;
import io.sparkfuse.contracts.SqlStarted;
import io.sparkfuse.contracts.StageEnded;
import io.sparkfuse.contracts.StageStarted;
import io.sparkfuse.contracts.StreamingEnded;
import io.sparkfuse.contracts.StreamingProgress;
import io.sparkfuse.contracts.StreamingStarted;
import io.sparkfuse.contracts.TaskEnded;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Secrets are removed from each field that can contain a user's text, in every kind of fact. */
class FactScrubberTest {
  private static final String TEXT = "jdbc:postgresql://me:hunter2@db/x?password=hunter2";

  static Stream<Arguments> texts() {
    return Stream.of(
        fact("application name", ApplicationStarted.newBuilder().setName(TEXT)),
        fact("property", ApplicationStarted.newBuilder().putProperties("spark.app.name", TEXT)),
        fact("setting", ApplicationStarted.newBuilder().putConfiguration("spark.master", TEXT)),
        arguments(
            "job", Fact.newBuilder().setJobStarted(JobStarted.newBuilder().setDescription(TEXT))),
        arguments(
            "group", Fact.newBuilder().setJobStarted(JobStarted.newBuilder().setJobGroup(TEXT))),
        arguments("tag", Fact.newBuilder().setJobStarted(JobStarted.newBuilder().addJobTags(TEXT))),
        arguments(
            "job end", Fact.newBuilder().setJobEnded(JobEnded.newBuilder().setFailureReason(TEXT))),
        arguments(
            "stage", Fact.newBuilder().setStageStarted(StageStarted.newBuilder().setName(TEXT))),
        arguments(
            "scope",
            Fact.newBuilder().setStageStarted(StageStarted.newBuilder().addScopeNames(TEXT))),
        arguments(
            "stage end",
            Fact.newBuilder().setStageEnded(StageEnded.newBuilder().setFailureReason(TEXT))),
        arguments(
            "task end",
            Fact.newBuilder().setTaskEnded(TaskEnded.newBuilder().setFailureReason(TEXT))),
        arguments(
            "query", Fact.newBuilder().setSqlStarted(SqlStarted.newBuilder().setDescription(TEXT))),
        arguments(
            "query node",
            Fact.newBuilder().setSqlStarted(SqlStarted.newBuilder().addPlanNodes(TEXT))),
        arguments(
            "plan node", Fact.newBuilder().setSqlPlan(SqlPlan.newBuilder().addNodeNames(TEXT))),
        arguments(
            "literal in a plan",
            Fact.newBuilder()
                .setSqlPlan(
                    SqlPlan.newBuilder()
                        .addNodeNames("Scan JDBCRelation((select 1 where k = 'hunter2'))"))),
        arguments(
            "query end",
            Fact.newBuilder().setSqlEnded(SqlEnded.newBuilder().setFailureReason(TEXT))),
        arguments(
            "executor",
            Fact.newBuilder().setExecutorRemoved(ExecutorRemoved.newBuilder().setReason(TEXT))),
        arguments(
            "stream",
            Fact.newBuilder().setStreamingStarted(StreamingStarted.newBuilder().setName(TEXT))),
        arguments(
            "batch",
            Fact.newBuilder().setStreamingProgress(StreamingProgress.newBuilder().setName(TEXT))),
        arguments(
            "source",
            Fact.newBuilder()
                .setStreamingProgress(StreamingProgress.newBuilder().addSources(TEXT))),
        arguments(
            "stream end",
            Fact.newBuilder()
                .setStreamingEnded(StreamingEnded.newBuilder().setFailureReason(TEXT))));
  }

  private static Arguments fact(String where, ApplicationStarted.Builder application) {
    return arguments(where, Fact.newBuilder().setApplicationStarted(application));
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("texts")
  void secretsAreRemovedFromAllTextFields(String where, Fact.Builder fact) {
    FactScrubber.scrub(fact);

    assertFalse(fact.toString().contains("hunter2"), fact.toString());
  }
}
