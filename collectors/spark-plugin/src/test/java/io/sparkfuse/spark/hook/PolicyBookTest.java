package io.sparkfuse.spark.hook;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sparkfuse.contracts.HookCounters;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Arrays;
import java.util.List;
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
  void shippedPoliciesAreKnownAndUseDocumentedCounters() throws Exception {
    PolicyBook book = PolicyBook.read("");
    for (String line : Files.readAllLines(Paths.get("../../rules/generated/fuse_policies.jsonl"))) {
      Policy policy = book.find(Hashes.sha256(line));

      assertNotNull(policy, line);
      for (Policy.Condition condition : policy.conditions) {
        boolean known = scopeOf(condition.column) >= SCOPES.indexOf(policy.scope);
        assertTrue(known || policy.actions.contains(Actions.EXTERNAL_STOP), condition.column);
      }
    }
  }

  private static final List<String> SCOPES = Arrays.asList("task", "stage", "query", "application");

  private static int scopeOf(String counter) {
    return HookCounters.COUNTERS.stream()
        .filter(each -> each.name.equals(counter))
        .mapToInt(each -> SCOPES.indexOf(each.scope))
        .findFirst()
        .orElse(-1);
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
            + "[{\"column\":\"a\",\"operator\":\">\",\"threshold\":1}]}",
        "{\"rule\":\"r\",\"view\":\"host_live\",\"actions\":[],\"conditions\":"
            + "[{\"column\":\"a\",\"operator\":\">\",\"threshold\":1}],\"max_counter_age_ms\":1}"
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
