package io.sparkfuse.spark.hook;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sparkfuse.spark.settings.PluginSettings.FuseMode;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Each gate refuses the signals of its cases; without the gate, the same signals stop work. */
class GatesTest {
  /** A signal that exactly one gate refuses. */
  private static final class Case {
    private final String gate;
    private final String name;
    private final String outcome;
    private final Consumer<HookScenario> play;

    private Case(String gate, String name, String outcome, Consumer<HookScenario> play) {
      this.gate = gate;
      this.name = name;
      this.outcome = outcome;
      this.play = play;
    }

    @Override
    public String toString() {
      return gate + ": " + name;
    }
  }

  private static Case refused(String gate, String name, Consumer<HookScenario> play) {
    return new Case(gate, name, "refused", play);
  }

  private static Case observed(
      String gate, String name, String outcome, Consumer<Observation> change, Object... signal) {
    return new Case(
        gate,
        name,
        outcome,
        all -> {
          change.accept(all.edge.observed);
          all.send(all.signal(7, signal));
        });
  }

  private static Case held(String name, Consumer<HookScenario> before) {
    return new Case(
        "hold",
        name,
        "held",
        all -> {
          before.accept(all);
          all.send(all.signal(7));
        });
  }

  private static Case changed(String gate, String name, Object... changes) {
    return refused(gate, name, all -> all.send(all.signal(7, changes)));
  }

  private static final long LATER = HookScenario.NOW + 3_600_000;

  /** Returns an approved signal for the policy that requires approvals. */
  private static java.util.Map<String, Object> toApprove(HookScenario all, long generation) {
    return all.signal(
        generation, "policy_hash", Hashes.sha256(HookScenario.policy("true", "false")));
  }

  private static Consumer<HookScenario> approved(
      TestKey key, String id, long untilMs, int otherStage) {
    return all -> {
      java.util.Map<String, Object> signal = toApprove(all, 7);
      java.util.Map<String, Object> target = toApprove(all, 7);
      target.put("stage_id", otherStage);
      signal.put("approval", all.approval(key, id, target, untilMs));
      all.send(signal);
    };
  }

  static Stream<Case> cases() {
    List<Case> cases = new ArrayList<>();
    cases.addAll(admission());
    cases.addAll(permission());
    cases.addAll(evidence());
    return cases.stream();
  }

  private static List<Case> admission() {
    return Arrays.asList(
        refused(
            "signature",
            "revoked key",
            all -> {
              all.control(
                  HookScenario.APPROVE, "kind", "revoke_key", "key_id", HookScenario.ACT.id());
              all.send(all.signal(7));
            }),
        refused(
            "signature",
            "expired key",
            all -> {
              all.edge.brokerAheadMs += 86_400_000;
              all.send(all.signal(7));
            }),
        refused(
            "signature",
            "key of another purpose",
            all -> all.send(HookScenario.SWITCH, all.signal(7))),
        changed("identity", "another application", "app_id", "app-2"),
        changed("identity", "another cluster", "cluster", "test"),
        changed("identity", "no cluster", "cluster", null),
        changed("identity", "another attempt", "app_attempt", 2),
        changed("identity", "another run", "app_start_ms", 16),
        refused(
            "timestamp",
            "a time that the writer set",
            all -> {
              String payload = io.sparkfuse.spark.json.JsonWriter.write(all.signal(7));
              all.receive(HookScenario.ACT.signed("signals", payload), all.edge.brokerMs(), false);
            }),
        changed(
            "clock",
            "controller 31 s ahead",
            "issued_ms",
            HookScenario.NOW + 31_000,
            "expires_ms",
            HookScenario.NOW + 60_000),
        changed(
            "clock",
            "controller 31 s behind",
            "issued_ms",
            HookScenario.NOW - 31_000,
            "expires_ms",
            HookScenario.NOW + 60_000),
        changed("lifetime", "121 s of life", "expires_ms", HookScenario.NOW + 121_000),
        changed("lifetime", "no life", "expires_ms", HookScenario.NOW),
        new Case(
            "lifetime",
            "expired by the broker's time",
            "expired",
            all -> {
              String payload = io.sparkfuse.spark.json.JsonWriter.write(all.signal(7));
              long appendedMs = all.edge.brokerMs();
              all.edge.clockMs += 60_000;
              all.receive(HookScenario.ACT.signed("signals", payload), appendedMs, true);
            }),
        refused(
            "epoch",
            "a controller that was replaced",
            all -> {
              all.send(all.signal(6, "epoch", 5, "action", "warn"));
              all.send(all.signal(7, "epoch", 4));
            }),
        refused(
            "generation",
            "duplicate of a warning",
            all -> {
              all.send(all.signal(7, "action", "warn"));
              all.send(all.signal(7));
            }),
        refused(
            "generation",
            "older than a probe",
            all -> {
              all.send(all.signal(8, "probe", true));
              all.send(all.signal(7));
            }),
        refused(
            "generation",
            "already refused",
            all -> {
              all.state.setHold(true);
              all.send(all.signal(7));
              all.state.setHold(false);
              all.send(all.signal(7));
            }));
  }

  private static List<Case> permission() {
    return Arrays.asList(
        refused(
            "policy",
            "another rule",
            all -> {
              all.control(
                  HookScenario.APPROVE, "kind", "arm", "action", "cancel_stage", "until_ms", LATER);
              all.send(all.signal(7, "rule", "other"));
            }),
        refused(
            "policy",
            "an action that the policy does not list",
            all -> {
              String line =
                  HookScenario.POLICY.replace("\"cancel_stage\",", "").replace("100}", "101}");
              all.policies = PolicyBook.of(line);
              all.send(all.signal(7, "policy_hash", Hashes.sha256(line)));
            }),
        refused(
            "mode",
            "the owner's off",
            all -> {
              all.state = new FuseState(FuseMode.OFF, false);
              all.send(all.signal(7));
            }),
        new Case(
            "mode",
            "the owner's warn",
            "warned",
            all -> {
              all.state = new FuseState(FuseMode.WARN, false);
              all.send(all.signal(7));
            }),
        held("of job code", all -> all.state.setHold(true)),
        held("of everything", all -> all.control(HookScenario.APPROVE, "kind", "hold")),
        held(
            "of the rule",
            all -> all.control(HookScenario.APPROVE, "kind", "hold", "rule", "sp*l")),
        held(
            "of the job",
            all -> all.control(HookScenario.APPROVE, "kind", "hold", "job", "nightly/*")),
        held(
            "of the application and cluster",
            all ->
                all.control(
                    HookScenario.APPROVE, "kind", "hold", "app", "app-?", "cluster", "prod")),
        held(
            "a control that nobody can verify",
            all -> all.control(TestKey.of("approve"), "kind", "hold", "released", true)),
        refused(
            "armed",
            "disarmed",
            all -> {
              all.control(
                  HookScenario.APPROVE,
                  "control_id",
                  "c-2",
                  "kind",
                  "arm",
                  "action",
                  "cancel_stage",
                  "until_ms",
                  LATER,
                  "released",
                  true);
              all.send(all.signal(7));
            }),
        refused(
            "armed",
            "arming has ended",
            all -> {
              all.control(
                  HookScenario.APPROVE,
                  "control_id",
                  "c-2",
                  "kind",
                  "arm",
                  "action",
                  "cancel_stage",
                  "until_ms",
                  HookScenario.NOW);
              all.send(all.signal(7));
            }),
        refused(
            "armed",
            "armed for another job",
            all -> {
              all.control(
                  HookScenario.APPROVE,
                  "control_id",
                  "c-2",
                  "kind",
                  "arm",
                  "action",
                  "cancel_stage",
                  "job",
                  "hourly/*",
                  "until_ms",
                  LATER);
              all.send(all.signal(7));
            }),
        refused("approval", "none", all -> all.send(toApprove(all, 7))),
        refused("approval", "of another target", approved(HookScenario.APPROVE, "a", LATER, 4)),
        refused("approval", "expired", approved(HookScenario.APPROVE, "a", HookScenario.NOW, 3)),
        refused("approval", "without an id", approved(HookScenario.APPROVE, "", LATER, 3)),
        refused("approval", "by an unknown key", approved(TestKey.of("approve"), "a", LATER, 3)),
        refused("approval", "by an act key", approved(HookScenario.ACT, "a", LATER, 3)),
        refused(
            "budget",
            "a second stop of the application",
            all -> {
              all.send(all.signal(6, "action", "stop_application"));
              all.edge.acts.clear();
              all.send(all.signal(7, "action", "stop_application"));
            }),
        refused(
            "budget",
            "a fourth stop in an hour",
            all -> {
              for (int i = 1; i <= 3; i++) {
                all.send(all.signal(i));
                all.edge.clockMs += 1_000_000;
              }
              all.edge.acts.clear();
              all.send(all.signal(7));
            }));
  }

  private static List<Case> evidence() {
    Consumer<Observation> nothing = observed -> {};
    String shared = Hashes.sha256(HookScenario.policy("false", "true"));
    return Arrays.asList(
        observed("shared_driver", "stage", "refused", o -> o.sharedBy = "2 users"),
        observed(
            "shared_driver",
            "stage, although the policy allows a query",
            "refused",
            o -> o.sharedBy = "2 users",
            "policy_hash",
            shared),
        observed(
            "shared_driver",
            "query, which the policy does not allow",
            "refused",
            o -> o.sharedBy = "2 users",
            "action",
            "cancel_query"),
        observed(
            "shared_driver",
            "query of two users",
            "refused",
            o -> {
              o.sharedBy = "2 users";
              o.queryOwners = 2;
            },
            "action",
            "cancel_query",
            "policy_hash",
            shared),
        new Case(
            "pause",
            "the driver pauses after it has read the controls",
            "refused",
            all -> {
              all.edge.pauseMs = EvidenceGates.MAX_PAUSE_MS + 1;
              all.send(all.signal(7));
            }),
        observed("blind", "dropped events", "blind", o -> o.droppedEvents = 1),
        observed("blind", "unknown dropped events", "blind", o -> o.droppedEvents = -1),
        observed("blind", "skipped events", "blind", o -> o.skippedEvents = true),
        observed("blind", "overflow", "blind", o -> o.overflowed = true),
        observed("blind", "direct transport", "blind", o -> o.directTransport = true),
        observed("blind", "silent task", "blind", o -> o.progressAgeMs = 20_001),
        observed(
            "blind",
            "no stage",
            "blind",
            nothing,
            "stage_id",
            null,
            "stage_attempt",
            null,
            "action",
            "cancel_jobs"),
        observed(
            "blind",
            "policy of a task, no task",
            "blind",
            nothing,
            "policy_hash",
            Hashes.sha256(HookScenario.of("task_live")),
            "task_id",
            null),
        observed(
            "blind",
            "policy of a task that has ended",
            "blind",
            o -> o.stageTasks = Collections.singleton(39L),
            "policy_hash",
            Hashes.sha256(HookScenario.of("task_live"))),
        observed(
            "blind",
            "policy of a query that has ended",
            "blind",
            o -> o.queryJobs = Collections.emptySet(),
            "policy_hash",
            Hashes.sha256(HookScenario.of("query_live"))),
        new Case(
            "predicate",
            "application whose age is not known",
            "disagrees",
            all -> {
              String line = HookScenario.of("app_live").replace("after_ms\":0", "after_ms\":1");
              all.policies = PolicyBook.of(line);
              all.send(all.signal(7, "policy_hash", Hashes.sha256(line)));
            }),
        observed(
            "target", "no such task", "refused", nothing, "action", "kill_task", "task_id", 41),
        observed(
            "target",
            "query that has ended",
            "refused",
            o -> o.queryJobs = Collections.emptySet(),
            "action",
            "cancel_query"),
        observed(
            "target",
            "query without the stage",
            "refused",
            o -> o.queryJobs = Collections.singleton(2),
            "action",
            "cancel_query"),
        observed(
            "predicate",
            "condition is false",
            "disagrees",
            o -> o.columns = HookScenario.columns(99)),
        observed(
            "predicate",
            "no such counter",
            "refused",
            o -> o.columns = Collections.singletonMap("elapsed_ms", 60_000L)));
  }

  @ParameterizedTest
  @MethodSource("cases")
  void gateRefuses(Case each) {
    HookScenario all = new HookScenario();
    each.play.accept(all);

    assertEquals(each.outcome, all.edge.outcome());
    assertEquals(each.outcome.equals("warned") ? null : each.gate, all.edge.gate());
    assertFalse(all.edge.stopped());
    assertEquals(0, all.faults.count());
  }

  @ParameterizedTest
  @MethodSource("cases")
  void withoutGateWorkIsStopped(Case each) {
    HookScenario all = new HookScenario();
    all.gates = Gates.without(each.gate);
    each.play.accept(all);

    assertTrue(all.edge.stopped());
  }

  @Test
  void eachGateHasCases() {
    Set<String> covered = cases().map(each -> each.gate).collect(Collectors.toSet());
    Set<String> all = Gates.ALL.stream().map(gate -> gate.name).collect(Collectors.toSet());

    assertEquals(all, new HashSet<>(covered));
  }

  @Test
  void unreachableControlsHoldEverything() {
    HookScenario all = new HookScenario();
    all.edge.controlsReachable = false;
    all.send(all.signal(7));

    assertEquals("held", all.edge.outcome());
    assertEquals("hold", all.edge.gate());
    all.send(HookScenario.SWITCH, all.signal(7, "action", "collector_off"));
    assertEquals("held", all.edge.outcome());
    assertEquals(Collections.emptyList(), all.edge.acts);
  }

  @Test
  void policyOfTheApplicationNeedsNoStage() {
    HookScenario all = new HookScenario();
    all.edge.observed.columns = Collections.emptyMap();
    all.edge.observed.wider = Collections.singletonMap("disk_spilled_bytes", 500L);
    Object[] target = {"stage_id", null, "stage_attempt", null, "task_id", null, "query_id", null};
    java.util.Map<String, Object> signal = all.signal(7, target);
    signal.put("policy_hash", Hashes.sha256(HookScenario.of("app_live")));
    signal.put("action", "stop_application");
    all.send(signal);

    assertEquals("ended", all.edge.outcome());
  }

  @Test
  void unknownPolicyIsRefused() {
    HookScenario all = new HookScenario();
    all.send(all.signal(7, "policy_hash", "0"));

    assertEquals("policy", all.edge.gate());
    HookScenario without = new HookScenario();
    without.gates = Gates.without("policy");
    without.send(without.signal(7, "policy_hash", "0"));
    assertEquals("blind", without.edge.outcome());
  }

  @Test
  void stageThatDoesNotRunIsBlind() {
    HookScenario all = new HookScenario();
    all.edge.observed.columns = Collections.emptyMap();
    all.send(all.signal(7));

    assertEquals("blind", all.edge.outcome());
  }

  /**
   * If the job lacks a setting, the hook lacks a counter of the policy, so the outcome is {@code
   * blind} and not {@code disagrees}.
   */
  @Test
  void settingThatTheJobDoesNotHaveIsBlind() {
    String line = HookScenario.POLICY.replace("disk_spilled_bytes", "application_cost");
    HookScenario all = new HookScenario();
    all.policies = PolicyBook.of(line);
    all.send(all.signal(7, "policy_hash", Hashes.sha256(line)));
    assertEquals("blind", all.edge.outcome());

    all.edge.observed.wider = Collections.singletonMap("application_cost", 99L);
    all.send(all.signal(8, "policy_hash", Hashes.sha256(line)));
    assertEquals("disagrees", all.edge.outcome());

    all.edge.observed.wider = Collections.singletonMap("application_cost", 100L);
    all.send(all.signal(9, "policy_hash", Hashes.sha256(line)));
    assertEquals("ended", all.edge.outcome());
  }
}
