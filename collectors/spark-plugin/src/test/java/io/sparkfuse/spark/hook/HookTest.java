package io.sparkfuse.spark.hook;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sparkfuse.contracts.Signal;
import io.sparkfuse.spark.json.JsonReader;
import io.sparkfuse.spark.json.JsonWriter;
import io.sparkfuse.spark.settings.PluginSettings.FuseMode;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

class HookTest {
  private final HookScenario all = new HookScenario();

  private List<Object> outcomes() {
    return all.edge.receipts.stream().map(each -> each.get("outcome")).collect(Collectors.toList());
  }

  private Map<?, ?> state() {
    return (Map<?, ?>) JsonReader.read(all.state.toJson());
  }

  private Object lastReceipt(String field) {
    return all.edge.receipts.get(all.edge.receipts.size() - 1).get(field);
  }

  @Test
  void validSignalStopsStage() {
    all.send(all.signal(7));

    assertEquals(Arrays.asList("received", "requested", "ended"), outcomes());
    assertEquals(Arrays.asList("cancel_stage"), all.edge.acts);
    assertEquals(2L, lastReceipt("freed_tasks"));
    assertEquals(0L, lastReceipt("unfreed_tasks"));
    assertEquals(Collections.singletonMap("disk_spilled_bytes", "500"), lastReceipt("observed"));
    assertEquals("open", state().get("state"));
  }

  @Test
  void eachActionIsCarriedOut() {
    for (String action : Actions.STOPS) {
      HookScenario one = new HookScenario();
      one.send(one.signal(7, "action", action));

      assertEquals(Arrays.asList(action), one.edge.acts);
      assertEquals("ended", one.edge.outcome());
    }
  }

  /**
   * The hook writes no receipt for an external_stop, because it could be mistaken for the external
   * actuator's answer.
   */
  @Test
  void externalStopIsNotForTheHook() {
    String policy = HookScenario.POLICY.replace("stop_application", "external_stop");
    all.policies = PolicyBook.of(policy);
    all.control(
        HookScenario.APPROVE,
        "kind",
        "arm",
        "action",
        Actions.EXTERNAL_STOP,
        "until_ms",
        HookScenario.NOW + 3_600_000L);
    String hash = Hashes.sha256(policy);
    all.send(all.signal(7, "action", Actions.EXTERNAL_STOP, "policy_hash", hash));
    all.send(all.signal(8, "action", Actions.EXTERNAL_STOP, "policy_hash", hash, "probe", true));

    assertEquals(Collections.emptyList(), all.edge.acts);
    assertEquals(Collections.emptyList(), outcomes());
    assertEquals("closed", state().get("state"));

    all.send(all.signal(6, "policy_hash", hash));

    assertEquals(Arrays.asList("cancel_stage"), all.edge.acts);
  }

  @Test
  void partialCancelIsReported() {
    all.edge.result = new ActResult(false, 3, 2, "2 tasks still run");
    all.send(all.signal(7));

    assertEquals("unfreed", all.edge.outcome());
    assertEquals(3L, lastReceipt("freed_tasks"));
    assertEquals(2L, lastReceipt("unfreed_tasks"));
  }

  @Test
  void actThatThrowsIsFailed() {
    all.edge.fault = new IllegalStateException("Spark refuses");
    all.send(all.signal(7));

    assertEquals(Arrays.asList("received", "requested", "failed"), outcomes());
    assertEquals(1, all.faults.count());
    assertEquals("closed", state().get("state"));
    assertEquals("failed", ((Map<?, ?>) ((List<?>) state().get("events")).get(0)).get("outcome"));
  }

  /** If an act fails after another act stopped work, the fuse stays open until a reset. */
  @Test
  void failedActDoesNotCloseFuseThatAnotherActOpened() {
    all.send(all.signal(7));
    all.edge.fault = new IllegalStateException("Spark refuses");
    all.send(all.signal(8));

    assertEquals("failed", outcomes().get(outcomes().size() - 1));
    assertEquals("open", state().get("state"));
  }

  /**
   * If the hook waits for a safe point, a receipt states how long it waited, and the event names
   * the stopped blocks.
   */
  @Test
  void actWaitsForSafePoint() {
    all.edge.safePointMs = 9_000;
    all.send(all.signal(7));

    assertEquals(Arrays.asList("received", "requested", "requested", "ended"), outcomes());
    Object waited = all.edge.receipts.get(2).get("reason");
    assertEquals("waited 9000 ms for a safe point of the job", waited);
    Map<?, ?> event = (Map<?, ?>) ((List<?>) state().get("events")).get(0);
    assertEquals(Arrays.asList("sparkfuse-block.0123456789abcdef.orders"), event.get("blocks"));
  }

  /**
   * After the wait for a safe point, all gates are evaluated again, so a hold that began meanwhile
   * prevents the act.
   */
  @Test
  void holdDuringSafePointPreventsAct() {
    all.edge.safePointMs = 9_000;
    all.edge.inSafePoint = () -> all.state.setHold(true);
    all.send(all.signal(7));

    assertEquals("held", all.edge.outcome());
    assertEquals(Collections.emptyList(), all.edge.acts);
  }

  @Test
  void holdNeverOpensFuse() {
    all.state.setHold(true);
    all.send(all.signal(7));

    assertEquals("closed", state().get("state"));
    assertEquals("held", ((Map<?, ?>) ((List<?>) state().get("events")).get(0)).get("outcome"));
  }

  @Test
  void warningNeverOpensFuse() {
    all.state = new FuseState(FuseMode.WARN, false);
    all.send(all.signal(7));
    all.send(all.signal(8, "action", "warn"));

    assertEquals(Arrays.asList("warn", "warn"), all.edge.acts);
    assertEquals("closed", state().get("state"));
    List<?> events = (List<?>) state().get("events");
    assertEquals("warned", ((Map<?, ?>) events.get(1)).get("outcome"));
    assertEquals(2L, ((Map<?, ?>) events.get(1)).get("sequence"));
  }

  @Test
  void probeNeverOpensFuse() {
    all.send(all.signal(7, "probe", true));

    assertEquals("would_act", all.edge.outcome());
    assertEquals(Collections.emptyList(), all.edge.acts);
    assertEquals("closed", state().get("state"));
    assertEquals(Collections.emptyList(), state().get("events"));
  }

  @Test
  void probeNeedsNeitherArmingNorActMode() {
    all.edge.book = new ControlBook(all.keys);
    all.state = new FuseState(FuseMode.WARN, false);
    all.send(all.signal(7, "probe", true));

    assertEquals("would_act", all.edge.outcome());
  }

  @Test
  void probeNamesGateAndCounters() {
    all.edge.observed.columns = HookScenario.columns(99);
    all.send(all.signal(7, "probe", true));

    assertEquals("would_not_act", all.edge.outcome());
    assertEquals("predicate", all.edge.gate());
    assertEquals(Collections.singletonMap("disk_spilled_bytes", "99"), lastReceipt("observed"));
  }

  @Test
  void expiredProbeIsNoAnswer() {
    String payload = JsonWriter.write(all.signal(7, "probe", true));
    long appendedMs = all.edge.brokerMs();
    all.edge.clockMs += 60_000;
    all.receive(HookScenario.ACT.signed("signals", payload), appendedMs, true);

    assertEquals("expired", all.edge.outcome());
  }

  @Test
  void holdThatArrivesAfterSignalWins() {
    all.edge.whileWaiting =
        () -> all.control(HookScenario.APPROVE, "control_id", "late", "kind", "hold");
    all.send(all.signal(7));

    assertEquals(Arrays.asList("received", "held"), outcomes());
    assertFalse(all.edge.stopped());
  }

  @Test
  void holdThatArrivesWithRequestWins() {
    int[] waits = new int[1];
    all.edge.whileWaiting =
        () -> {
          if (++waits[0] == 2) {
            all.control(HookScenario.APPROVE, "control_id", "late", "kind", "hold");
          }
        };
    all.send(all.signal(7));

    assertEquals(Arrays.asList("received", "requested", "held"), outcomes());
    assertFalse(all.edge.stopped());
    assertEquals("closed", state().get("state"));
  }

  @Test
  void signalThatExpiresMeanwhileIsNotObeyed() {
    all.edge.acknowledgementMs = 4_000;
    all.send(all.signal(7, "expires_ms", all.edge.brokerMs() + 7_000));

    assertEquals(Arrays.asList("received", "requested", "expired"), outcomes());
    assertFalse(all.edge.stopped());
  }

  @Test
  void unreachableBrokerStopsNothing() {
    all.edge.brokerReachable = false;
    all.send(all.signal(7));

    assertEquals(Arrays.asList("failed"), outcomes());
    assertFalse(all.edge.stopped());
  }

  @Test
  void requestThatIsNotAcknowledgedStopsNothing() {
    int[] waits = new int[1];
    all.edge.whileWaiting = () -> all.edge.brokerReachable = ++waits[0] < 2;
    all.send(all.signal(7));

    assertEquals(Arrays.asList("received", "failed"), outcomes());
    assertFalse(all.edge.stopped());
  }

  @Test
  void clockOfDriverDoesNotMatter() {
    all.edge.clockMs = -86_400_000;
    all.edge.brokerAheadMs = HookScenario.NOW + 86_400_000;
    all.send(all.signal(7));

    assertTrue(all.edge.stopped());
  }

  @Test
  void replayDuplicateAndReorderStopOnce() {
    String first = HookScenario.ACT.signed("signals", JsonWriter.write(all.signal(8)));
    String older = HookScenario.ACT.signed("signals", JsonWriter.write(all.signal(7)));
    for (String each : Arrays.asList(first, first, older, first)) {
      all.receive(each, all.edge.brokerMs(), true);
    }

    assertEquals(Arrays.asList("cancel_stage"), all.edge.acts);
  }

  @Test
  void fencedControllerIsRefused() {
    all.send(all.signal(7, "epoch", 9, "probe", true));
    all.send(all.signal(8, "epoch", 8));
    assertEquals("epoch", all.edge.gate());

    all.send(all.signal(8, "epoch", 9));
    assertTrue(all.edge.stopped());
  }

  @Test
  void refusedIdentityDoesNotUseGeneration() {
    all.send(all.signal(99, "app_start_ms", 16));
    all.send(all.signal(7));

    assertTrue(all.edge.stopped());
  }

  @Test
  void switchNeedsOnlyItsKey() {
    all.state = new FuseState(FuseMode.OFF, true);
    all.edge.observed.droppedEvents = 5;
    all.send(HookScenario.SWITCH, all.signal(7_000, "action", "collector_off"));
    all.send(HookScenario.ACT, all.signal(8_000, "action", "collector_on"));

    assertEquals(Arrays.asList("collector_off"), all.edge.acts);
    assertEquals("signature", all.edge.gate());
  }

  @Test
  void switchDoesNotMakeSignalsOld() {
    all.send(HookScenario.SWITCH, all.signal(7_000, "action", "collector_off", "epoch", 50));
    all.send(all.signal(7));

    assertEquals(Arrays.asList("collector_off", "cancel_stage"), all.edge.acts);
  }

  @Test
  void approvalIsUsedOnce() {
    String hash = Hashes.sha256(HookScenario.policy("true", "false"));
    Map<String, Object> signal = all.signal(7, "policy_hash", hash);
    Map<String, Object> approval =
        all.approval(HookScenario.APPROVE, "a-1", signal, HookScenario.NOW + 60_000);
    signal.put("approval", approval);
    all.send(signal);
    assertEquals("ended", all.edge.outcome());

    all.send(all.signal(8, "policy_hash", hash, "approval", approval));
    assertEquals("approval", all.edge.gate());
    assertEquals("the approval was already used", lastReceipt("reason"));
  }

  @Test
  void sharedDriverAllowsQueryOfOneOwner() {
    all.edge.observed.sharedBy = "2 users";
    all.send(
        all.signal(
            7,
            "action",
            "cancel_query",
            "policy_hash",
            Hashes.sha256(HookScenario.policy("false", "true"))));

    assertEquals(Arrays.asList("cancel_query"), all.edge.acts);
  }

  @Test
  void budgetRenewsAfterAnHour() {
    for (int i = 1; i <= 3; i++) {
      all.send(all.signal(i));
    }
    all.edge.clockMs += 3_600_000;
    all.send(all.signal(4));

    assertEquals(4, all.edge.acts.size());
  }

  @Test
  void floodOfForgedRecordsWritesFewReceipts() {
    String forged = TestKey.of("act").signed("signals", JsonWriter.write(all.signal(7)));
    String known =
        forged.replaceAll(
            "\"key_id\":\"[0-9a-f]+\"", "\"key_id\":\"" + HookScenario.ACT.id() + "\"");
    for (int i = 0; i < 10_000; i++) {
      all.receive(i % 3 == 0 ? "not JSON" : i % 3 == 1 ? forged : known, i, true);
      all.edge.clockMs += 12; // two minutes in all
    }

    assertEquals(2, all.edge.receipts.size());
    assertEquals(1L, all.edge.receipts.get(0).get("unverified_records"));
    assertEquals(5_000L, all.edge.receipts.get(1).get("unverified_records"));
    assertEquals(null, all.edge.receipts.get(1).get("signal_id"));
    assertFalse(all.edge.stopped());
  }

  @Test
  void recordsOfOthersAreNotParsed() {
    // A null value would fail in the parser, and the failure would be counted.
    for (int i = 0; i < 10_000; i++) {
      all.hook().receive(new SignalRecord("app-2", null, 0, true));
    }

    assertEquals(0, all.faults.count());
    assertEquals(Collections.emptyList(), all.edge.receipts);
  }

  @Test
  void signatureOfOtherTopicIsInvalid() {
    all.receive(
        HookScenario.ACT.signed("approvals", JsonWriter.write(all.signal(7))),
        all.edge.brokerMs(),
        true);

    assertEquals("signature", all.edge.gate());
    assertFalse(all.edge.stopped());
  }

  @Test
  void malformedSignalOfValidKeyIsRefused() {
    all.receive(
        HookScenario.ACT.signed("signals", "{\"generation\":1.5}"), all.edge.brokerMs(), true);

    assertEquals("refused", all.edge.outcome());
    assertEquals("generation is not a whole number", lastReceipt("reason"));
  }

  @Test
  void reasonIsOneLine() {
    Signal signal =
        Signal.newBuilder()
            .setSignalId("s-1")
            .setAction("cancel_stage")
            .setStageId(3)
            .setRule("stage_runaway_spill")
            .setEvidence("spilled 3 GB\nWARN forged line.")
            .setFindingId("f00d")
            .build();

    assertEquals(
        "[SPARKFUSE_FUSE_BLOWN] Sparkfuse stopped stage 3. Rule: stage_runaway_spill. Evidence:"
            + " spilled 3 GB WARN forged line. Look at: sparkfuse finding f00d. To override: "
            + ReasonText.DEFAULT_OVERRIDE
            + ". (signal s-1)",
        ReasonText.of(signal));
  }

  @Test
  void partitionEqualsThatOfDefaultPartitioner() {
    assertEquals(
        org.apache.kafka.clients.producer.internals.BuiltInPartitioner.partitionForKey(
            "local-1795256082965".getBytes(StandardCharsets.UTF_8), 12),
        SignalConsumer.partitionOf("local-1795256082965", 12));
  }
}
