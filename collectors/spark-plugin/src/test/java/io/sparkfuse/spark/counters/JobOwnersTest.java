package io.sparkfuse.spark.counters;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sparkfuse.contracts.JobEnded;
import io.sparkfuse.contracts.JobStarted;
import java.util.Arrays;
import org.junit.jupiter.api.Test;

/** A driver that once ran jobs of several owners stays shared until it ends. */
class JobOwnersTest {
  private static final String BROADCAST = "0b9c5a1e-70f0-4d1c-9a55-3f7c6c4e1d2a";
  private static final String CONNECT = "SparkConnect_OperationTag_User_%s_Session_%s_Operation_1";

  private final StageRegistry registry = new StageRegistry(() -> 0);
  private int jobs;

  private int start(String group, long query, String... tags) {
    JobStarted.Builder job = JobStarted.newBuilder().setJobId(++jobs).addStageIds(jobs);
    job.setJobGroup(group).addAllJobTags(Arrays.asList(tags));
    if (query > 0) {
      job.setSqlExecutionId(query);
    }
    registry.jobStarted(job.build());
    return jobs;
  }

  private void run(String group, String... tags) {
    end(start(group, 0, tags));
  }

  private void end(int job) {
    registry.jobEnded(JobEnded.newBuilder().setJobId(job).setSucceeded(true).build());
  }

  @Test
  void sessionsOneAfterAnotherShareTheDriver() {
    run("", String.format(CONNECT, "ann", "s1"));
    run("load");
    run("", String.format(CONNECT, "ann", "s1"));
    assertFalse(registry.hadSeveralOwners());

    run("", String.format(CONNECT, "bob", "s2"));
    run("", String.format(CONNECT, "bob", "s2"));
    assertTrue(registry.hadSeveralOwners());
  }

  @Test
  void jobGroupsOneAfterAnotherAreStepsOfOneJob() {
    run("extract");
    run("load");

    assertFalse(registry.hadSeveralOwners());
  }

  @Test
  void jobGroupsAtTheSameTimeShareTheDriverForGood() {
    int ann = start("ann", 1);
    run("bob");
    assertEquals(1, registry.owners(registry.runningJobs()).size());
    assertTrue(registry.hadSeveralOwners());

    end(ann);
    run("ann");
    assertTrue(registry.hadSeveralOwners());
  }

  @Test
  void broadcastsAndQueriesOfOneOwnerShareNothing() {
    start("", 1);
    start("", 2);
    start(BROADCAST, 3);
    start("", 0);

    assertFalse(registry.hadSeveralOwners());
  }

  @Test
  void tagsOfOneSessionAreOneOwner() {
    String session = "spark-session-0b9c5a1e-70f0-4d1c-9a55-3f7c6c4e1d2a";
    start("", 1, session);
    start("", 2, session, session + "-thread-1-load");
    start("", 0);
    assertEquals(2, registry.owners(registry.runningJobs()).size(), "a session, and no session");
    assertFalse(registry.hadSeveralOwners());

    run("", session.replace("0b9c", "1b9c"));
    assertTrue(registry.hadSeveralOwners());
  }

  @Test
  void streamingQueryIsNoOtherOwner() {
    String session = "spark-session-0b9c5a1e-70f0-4d1c-9a55-3f7c6c4e1d2a";
    start("", 1, session);
    JobStarted.Builder batch = JobStarted.newBuilder().setJobId(++jobs).setJobGroup(BROADCAST);
    registry.jobStarted(batch.addJobTags(session.replace("0b9c", "1b9c")).build(), true);
    run("", session);

    assertFalse(registry.hadSeveralOwners());
  }

  @Test
  void jobsOfOneQueryHaveOneOwner() {
    start("load", 1);
    start("part of the query", 1);

    assertFalse(registry.hadSeveralOwners());
  }
}
