package io.sparkfuse.spark.hook;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sparkfuse.spark.json.JsonWriter;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Records that somebody with a stolen key or with access to Kafka could write. */
class HostileRecordsTest {
  private static final long HOUR_MS = 3_600_000;

  /** A hostile sequence of records, after which the hook must not have stopped anything. */
  private static final class Attack {
    private final String name;
    private final Consumer<HookScenario> records;

    private Attack(String name, Consumer<HookScenario> records) {
      this.name = name;
      this.records = records;
    }

    @Override
    public String toString() {
      return name;
    }
  }

  private static Attack attack(String name, Consumer<HookScenario> records) {
    return new Attack(name, records);
  }

  private static String huge() {
    return String.join("", Collections.nCopies(1_000_000, "x"));
  }

  private static String signed(HookScenario all, Map<String, Object> signal) {
    return HookScenario.ACT.signed("signals", JsonWriter.write(signal));
  }

  static Stream<Attack> attacks() {
    return Stream.of(
        attack("approve key", all -> all.send(HookScenario.APPROVE, all.signal(7))),
        attack("switch key", all -> all.send(HookScenario.SWITCH, all.signal(7))),
        attack("key that the job does not know", all -> all.send(TestKey.of("act"), all.signal(7))),
        attack(
            "key on another curve",
            all -> {
              TestKey weak = TestKey.of("act", "secp384r1");
              all.keys.with(weak.entry("2099-12-31"));
              all.send(weak, all.signal(7));
            }),
        attack(
            "signature of a control, in the topic of signals",
            all -> {
              String payload = JsonWriter.write(all.signal(7));
              all.receive(HookScenario.ACT.signed("controls", payload), all.edge.brokerMs(), true);
            }),
        attack(
            "changed payload of a valid signal",
            all ->
                all.receive(
                    signed(all, all.signal(7)).replace("app-1", "app-2"),
                    all.edge.brokerMs(),
                    true)),
        attack("no signature", all -> all.receive("{}", all.edge.brokerMs(), true)),
        attack("empty record", all -> all.receive("", all.edge.brokerMs(), true)),
        attack("huge record", all -> all.receive(huge(), all.edge.brokerMs(), true)),
        attack(
            "deeply nested record",
            all ->
                all.receive(
                    String.join("", Collections.nCopies(100_000, "[")), all.edge.brokerMs(), true)),
        attack(
            "two payloads in one record",
            all ->
                all.receive(
                    signed(all, all.signal(7)).replaceFirst("\\{", "{\"payload\":\"{}\","),
                    all.edge.brokerMs(),
                    true)),
        attack("unknown policy", all -> all.send(all.signal(7, "policy_hash", "0"))),
        attack("huge policy hash", all -> all.send(all.signal(7, "policy_hash", huge()))),
        attack("action in capitals", all -> all.send(all.signal(7, "action", "CANCEL_STAGE"))),
        attack(
            "generation beyond 64 bits",
            all ->
                all.receive(
                    signed(all, all.signal(7))
                        .replace(
                            "\\\"generation\\\":7",
                            "\\\"generation\\\":"
                                + String.join("", Collections.nCopies(5_000, "9"))),
                    all.edge.brokerMs(),
                    true)),
        attack("another attempt", all -> all.send(all.signal(7, "app_attempt", 2))),
        attack("earlier run", all -> all.send(all.signal(7, "app_start_ms", 16))),
        attack(
            "epoch that was replaced",
            all -> {
              all.send(all.signal(6, "epoch", 5, "probe", true));
              all.send(all.signal(7, "epoch", 4));
            }),
        attack(
            "probe that is sent again as an act",
            all -> {
              all.send(all.signal(7, "probe", true));
              all.send(all.signal(7));
            }),
        attack(
            "signal refused for its clock, appended again",
            all -> {
              Map<String, Object> early =
                  all.signal(
                      7,
                      "issued_ms",
                      all.edge.brokerMs() + 40_000,
                      "expires_ms",
                      all.edge.brokerMs() + 100_000);
              all.send(early);
              all.edge.clockMs += 40_000;
              all.send(early);
            }),
        attack(
            "signal with a time of its writer, appended again",
            all -> {
              String record = signed(all, all.signal(7));
              all.receive(record, all.edge.brokerMs(), false);
              all.receive(record, all.edge.brokerMs(), true);
            }),
        attack(
            "expired signal, appended again",
            all -> {
              long appendedMs = all.edge.brokerMs();
              String record = signed(all, all.signal(7, "expires_ms", appendedMs + 10_000));
              all.edge.clockMs += 11_000;
              all.receive(record, appendedMs, true);
              all.receive(record, all.edge.brokerMs(), true);
            }),
        attack(
            "tombstone of a hold",
            all -> {
              String hold = all.control(HookScenario.APPROVE, "kind", "hold");
              all.edge.book.put(hold, null, all.edge.brokerMs(), true);
              all.send(all.signal(7));
            }),
        attack(
            "release of a hold by an act key",
            all -> {
              String hold = all.control(HookScenario.APPROVE, "kind", "hold");
              all.control(HookScenario.ACT, "control_id", hold, "kind", "hold", "released", true);
              all.send(all.signal(7));
            }),
        attack(
            "hold under the id of another control",
            all -> {
              String record =
                  HookScenario.APPROVE.signed(
                      "controls", "{\"control_id\":\"a\",\"kind\":\"hold\",\"released\":true}");
              all.edge.book.put("b", record, all.edge.brokerMs(), true);
              all.send(all.signal(7));
            }),
        attack(
            "control of an unknown kind",
            all -> {
              all.control(HookScenario.APPROVE, "kind", "arm_all");
              all.send(all.signal(7));
            }),
        attack(
            "control whose writer chose its time",
            all -> {
              String record =
                  HookScenario.APPROVE.signed(
                      "controls", "{\"control_id\":\"a\",\"kind\":\"arm\"}");
              all.edge.book.put("a", record, 1, false);
              all.send(all.signal(7));
            }),
        attack(
            "huge control",
            all -> {
              all.edge.book.put("a", huge(), all.edge.brokerMs(), true);
              all.send(all.signal(7));
            }),
        attack(
            "release that is older than the hold",
            all -> {
              long now = all.edge.brokerMs();
              String hold = all.control(HookScenario.APPROVE, "kind", "hold");
              all.control(
                  HookScenario.APPROVE,
                  "control_id",
                  hold,
                  "kind",
                  "hold",
                  "released",
                  true,
                  "issued_ms",
                  now - 1);
              all.send(all.signal(7));
            }),
        attack(
            "arming without an end",
            all -> {
              all.control(
                  HookScenario.APPROVE,
                  "control_id",
                  "c-2",
                  "kind",
                  "arm",
                  "action",
                  "cancel_stage",
                  "released",
                  true,
                  "until_ms",
                  HookScenario.NOW + HOUR_MS);
              all.control(HookScenario.APPROVE, "kind", "arm", "action", "cancel_stage");
              all.send(all.signal(7));
            }));
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("attacks")
  void hostileRecordStopsNothing(Attack attack) {
    HookScenario all = new HookScenario();
    attack.records.accept(all);

    assertFalse(all.edge.stopped(), attack.name);
    assertEquals(0, all.faults.count(), "a hostile record must not count as a fault of the hook");
    for (Map<?, ?> receipt : all.edge.receipts) {
      assertTrue(JsonWriter.write(receipt).length() < 4_000, "a receipt repeats a huge record");
    }
  }

  /** The attacks prove something only if the hook stops work without them. */
  @Test
  void sameScenarioStopsWithoutAnAttack() {
    HookScenario all = new HookScenario();
    all.send(all.signal(7));

    assertTrue(all.edge.stopped());
  }

  /** A hold of another cluster holds nothing here, and a hold of this one does. */
  @Test
  void holdOfAnotherClusterHoldsNothing() {
    HookScenario all = new HookScenario();
    all.control(HookScenario.APPROVE, "kind", "hold", "cluster", "test");
    all.send(all.signal(7));
    all.control(HookScenario.APPROVE, "kind", "hold", "cluster", "pro?");
    all.send(all.signal(8));

    List<String> acts = all.edge.acts;
    assertEquals(Arrays.asList("cancel_stage"), acts);
    assertEquals("held", all.edge.outcome());
  }

  /** After a refused signal, a newer one is obeyed: a refusal uses up one generation only. */
  @Test
  void newerSignalAfterARefusalIsObeyed() {
    HookScenario all = new HookScenario();
    all.send(all.signal(7, "issued_ms", all.edge.brokerMs() + 40_000));
    all.send(all.signal(8));

    List<Object> gates =
        all.edge.receipts.stream().map(each -> each.get("gate")).collect(Collectors.toList());
    assertTrue(gates.contains("clock"), gates.toString());
    assertEquals(Arrays.asList("cancel_stage"), all.edge.acts);
  }

  /** A stolen key that was revoked cannot make the controller's next signals old. */
  @Test
  void revokedKeyUsesNoGeneration() {
    HookScenario all = new HookScenario();
    TestKey stolen = TestKey.of("act");
    all.keys.with(stolen.entry("2099-12-31"));
    all.control(HookScenario.APPROVE, "kind", "revoke_key", "key_id", stolen.id());
    all.send(stolen, all.signal(Long.MAX_VALUE));
    all.send(all.signal(7));

    assertEquals(Arrays.asList("cancel_stage"), all.edge.acts);
  }
}
