package io.sparkfuse.spark.hook;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.sparkfuse.contracts.StageStarted;
import io.sparkfuse.contracts.TaskProgress;
import io.sparkfuse.contracts.TaskStarted;
import io.sparkfuse.spark.counters.StageRegistry;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Arrays;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class PolicyBookTest {
  private static final String LINE = HookScenario.POLICY;

  @Test
  void policyIsFoundByHashOfItsLine(@TempDir Path folder) throws Exception {
    Path file = folder.resolve("policies.jsonl");
    Files.write(file, Arrays.asList("# no JSON", "", LINE));
    PolicyBook book = PolicyBook.read(file.toString());

    assertEquals("spill", book.find(Hashes.sha256(LINE)).rule);
    assertNull(book.find(Hashes.sha256(LINE + " ")));
    assertNull(PolicyBook.read(folder.resolve("missing").toString()).find(Hashes.sha256(LINE)));
  }

  /** The hook must have each counter that a shipped policy uses, or the policy can never apply. */
  @Test
  void shippedPoliciesAreKnownAndCounted() throws Exception {
    StageRegistry registry = new StageRegistry();
    registry.stageStarted(StageStarted.newBuilder().setStageId(1).setStageAttempt(0).build());
    registry.taskStarted(
        TaskStarted.newBuilder().setStageId(1).setStageAttempt(0).setTaskId(4).build());
    registry.taskProgressed(
        TaskProgress.newBuilder()
            .setStageId(1)
            .setStageAttempt(0)
            .setTaskId(4)
            .setSinceSpillMs(1)
            .build());
    Map<String, Long> columns = registry.columns(1, 0);
    PolicyBook book = PolicyBook.read("");
    for (String line : Files.readAllLines(Paths.get("../../rules/generated/fuse_policies.jsonl"))) {
      Policy policy = book.find(Hashes.sha256(line));

      assertNotNull(policy, line);
      for (Policy.Condition condition : policy.conditions) {
        assertNotNull(columns.get(condition.column), condition.column);
      }
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "{}",
        "[]",
        "{\"rule\":\"r\",\"view\":\"stage_live\",\"actions\":[],\"conditions\":[],"
            + "\"max_counter_age_ms\":1}",
        "{\"rule\":\"r\",\"view\":\"stage_live\",\"actions\":[\"explode\"],\"conditions\":"
            + "[{\"column\":\"a\",\"operator\":\">\",\"threshold\":1}],\"max_counter_age_ms\":1}",
        "{\"rule\":\"r\",\"view\":\"stage_live\",\"actions\":[],\"conditions\":"
            + "[{\"column\":\"a\",\"operator\":\"!=\",\"threshold\":1}],\"max_counter_age_ms\":1}",
        "{\"rule\":\"r\",\"view\":\"stage_live\",\"actions\":[],\"conditions\":"
            + "[{\"column\":\"a\",\"operator\":\">\"}],\"max_counter_age_ms\":1}",
        "{\"rule\":\"r\",\"view\":\"stage_live\",\"actions\":[],\"conditions\":"
            + "[{\"column\":\"a\",\"operator\":\">\",\"threshold\":1}]}"
      })
  void lineThatIsNoPolicyIsRefused(String line) {
    assertThrows(IllegalArgumentException.class, () -> Policy.of(line));
  }

  @Test
  void youngStageDisagrees() {
    String line = LINE.replace("\"after_ms\":0", "\"after_ms\":60001");
    HookScenario all = new HookScenario();
    all.policies = PolicyBook.of(line);
    all.send(all.signal(7, "policy_hash", Hashes.sha256(line)));

    assertEquals("disagrees", all.edge.outcome());
  }
}
