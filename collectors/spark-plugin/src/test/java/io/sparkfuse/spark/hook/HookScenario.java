package io.sparkfuse.spark.hook;

import io.sparkfuse.spark.facts.Application;
import io.sparkfuse.spark.json.JsonWriter;
import io.sparkfuse.spark.safety.FaultCounter;
import io.sparkfuse.spark.settings.PluginSettings.FuseMode;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;

/** One application whose stage 3.0 spills, an armed rule, and a hook that would stop it. */
final class HookScenario {
  static final long NOW = 1_800_000_000_000L; // 2027-01-15
  static final String DAY = "2027-01-15";
  static final Application OWN = new Application("prod", "team", "app-1", 1, 17);
  static final TestKey ACT = TestKey.of("act");
  static final TestKey SWITCH = TestKey.of("switch");
  static final TestKey APPROVE = TestKey.of("approve");
  static final TestKey SECURITY = TestKey.of("approve");
  static final String KEYS =
      String.join(",", ACT.entry(DAY), SWITCH.entry(DAY), APPROVE.entry(DAY), SECURITY.entry(DAY));
  static final String POLICY = policy("false", "false");

  final PublicKeys keys = PublicKeys.of(KEYS);
  final InMemoryEdge edge = new InMemoryEdge(keys);
  final FaultCounter faults = new FaultCounter("the test");
  FuseState state = new FuseState(FuseMode.ACT, false);
  PolicyBook policies =
      PolicyBook.of(
          POLICY,
          policy("true", "false"),
          policy("false", "true"),
          of("task_live"),
          of("query_live"),
          of("app_live"));
  List<Gates.Gate> gates = Gates.ALL;
  private Hook hook;
  private long controls;

  HookScenario() {
    edge.brokerAheadMs = NOW - edge.clockMs;
    edge.observed = spilling();
    for (String action : Actions.STOPS) {
      control(APPROVE, "kind", "arm", "action", action, "until_ms", NOW + 3_600_000_000L);
    }
  }

  static String policy(String approval, String shared) {
    return "{\"rule\":\"spill\",\"view\":\"stage_live\",\"actions\":[\"kill_task\",\"cancel_query\","
        + "\"cancel_stage\",\"cancel_jobs\",\"stop_application\"],\"conditions\":[{\"column\":"
        + "\"disk_spilled_bytes\",\"operator\":\">=\",\"threshold\":100}],\"after_ms\":0,"
        + "\"max_counter_age_ms\":20000,\"requires_approval\":"
        + approval
        + ",\"shared_driver\":"
        + shared
        + "}";
  }

  /** Returns the same policy for a rule that uses another view. */
  static String of(String view) {
    return POLICY.replace("stage_live", view);
  }

  /**
   * Returns what a driver knows about stage 3.0 of job 1; the stage spills and belongs to query 8.
   */
  static Observation spilling() {
    Observation observed = new Observation();
    observed.columns = columns(500);
    observed.progressAgeMs = 4_000;
    observed.stageJobs = Collections.singleton(1);
    observed.queryJobs = new TreeSet<>(Arrays.asList(1, 2));
    observed.stageTasks = Collections.singleton(40L);
    observed.queryOwners = 1;
    return observed;
  }

  static Map<String, Long> columns(long spilledBytes) {
    Map<String, Long> columns = new LinkedHashMap<>();
    columns.put("disk_spilled_bytes", spilledBytes);
    columns.put("elapsed_ms", 60_000L);
    return columns;
  }

  /** Returns the fields of a valid signal; {@code changes} are pairs of name and value. */
  Map<String, Object> signal(long generation, Object... changes) {
    Map<String, Object> signal = new LinkedHashMap<>();
    signal.put("signal_id", "s-" + generation);
    signal.put("cluster", "prod");
    signal.put("app_id", "app-1");
    signal.put("app_attempt", 1);
    signal.put("app_start_ms", 17);
    signal.put("epoch", 4);
    signal.put("generation", generation);
    signal.put("rule", "spill");
    signal.put("action", "cancel_stage");
    signal.put("policy_hash", Hashes.sha256(POLICY));
    signal.put("job_key", "nightly/load");
    signal.put("stage_id", 3);
    signal.put("stage_attempt", 0);
    signal.put("query_id", 8);
    signal.put("task_id", 40);
    signal.put("issued_ms", edge.brokerMs());
    signal.put("expires_ms", edge.brokerMs() + 60_000);
    for (int i = 0; i < changes.length; i += 2) {
      signal.put((String) changes[i], changes[i + 1]);
    }
    return signal;
  }

  /** Writes a control that {@code key} signed; returns its id. */
  String control(TestKey key, Object... fields) {
    Map<String, Object> control = new LinkedHashMap<>();
    control.put("control_id", "c-" + controls++);
    control.put("actor", "ann");
    control.put("reason", "incident 7");
    control.put("issued_ms", edge.brokerMs());
    for (int i = 0; i < fields.length; i += 2) {
      control.put((String) fields[i], fields[i + 1]);
    }
    String id = (String) control.get("control_id");
    edge.book.put(id, key.signed("controls", JsonWriter.write(control)), edge.brokerMs(), true);
    return id;
  }

  /** Returns the envelope of an approval of a signal. */
  Map<String, Object> approval(TestKey key, String id, Map<String, Object> signal, long untilMs) {
    Map<String, Object> approval = new LinkedHashMap<>();
    approval.put("approval_id", id);
    approval.put("digest", Hashes.target(MessageReader.signal(JsonWriter.write(signal))));
    approval.put("expires_ms", untilMs);
    return key.envelope("approvals", JsonWriter.write(approval));
  }

  void send(Map<String, Object> signal) {
    send(ACT, signal);
  }

  void send(TestKey key, Map<String, Object> signal) {
    receive(key.signed("signals", JsonWriter.write(signal)), edge.brokerMs(), true);
  }

  void receive(String value, long timestampMs, boolean appended) {
    if (hook == null) {
      hook = new Hook(OWN, keys, policies, state, edge.edge(), faults, gates);
    }
    hook.receive(new SignalRecord("app-1", value, timestampMs, appended));
  }

  Hook hook() {
    if (hook == null) {
      hook = new Hook(OWN, keys, policies, state, edge.edge(), faults, gates);
    }
    return hook;
  }
}
