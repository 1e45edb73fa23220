package io.sparkfuse.spark.hook;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.sparkfuse.contracts.Signal;
import io.sparkfuse.spark.json.JsonWriter;
import io.sparkfuse.spark.listener.SharedCases;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Runs the cases of contracts/shared/control_rules.yaml, which describes their fields. */
class ControlRulesTest {
  private static final long NOW = HookScenario.NOW;
  private static final String SOON = HookScenario.DAY;
  private static final String LATE = "2099-12-31";
  private static final Signal SIGNAL =
      Signal.newBuilder()
          .setRule("spill")
          .setJobKey("nightly/load")
          .setAppId("app-1")
          .setAction("cancel_stage")
          .build();
  private static final Map<String, TestKey> SIGNERS = new LinkedHashMap<>();

  static {
    SIGNERS.put("approve", TestKey.of("approve"));
    SIGNERS.put("security", TestKey.of("approve"));
    SIGNERS.put("act", TestKey.of("act"));
    SIGNERS.put("stranger", TestKey.of("approve"));
  }

  private static final PublicKeys TRUSTED =
      PublicKeys.of(
          String.join(
              ",",
              SIGNERS.get("approve").entry(SOON),
              SIGNERS.get("security").entry(LATE),
              SIGNERS.get("act").entry(SOON)));

  static Stream<Map<String, Object>> cases() throws Exception {
    return SharedCases.of("generated/shared/control_rules.json");
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("cases")
  void controlsInForceAreThoseOfTheCase(Map<String, Object> shared) {
    ControlBook book = new ControlBook(TRUSTED);
    for (Object each : (List<?>) shared.get("records")) {
      Map<?, ?> record = (Map<?, ?>) each;
      Object appended = record.containsKey("appended_ms") ? record.get("appended_ms") : (Object) 0L;
      long atMs = appended == null ? NOW : NOW + (Long) appended;
      book.put((String) record.get("key"), content(record), atMs, appended != null);
    }
    long atMs = NOW + (shared.containsKey("at_ms") ? (Long) shared.get("at_ms") : 0);
    ControlSnapshot controls = book.snapshot();
    Set<String> revoked = new HashSet<>();
    ((List<?>) shared.get("revoked")).forEach(name -> revoked.add(SIGNERS.get(name).id()));

    assertEquals(shared.get("held"), held(controls.hold(SIGNAL, "prod", atMs)));
    assertEquals(shared.get("armed"), controls.arms(SIGNAL, "prod", atMs));
    assertEquals(revoked, controls.revoked);
  }

  private static String held(String reason) {
    return reason == null ? "no" : reason.contains("cannot be verified") ? "unverified" : "hold";
  }

  private static String content(Map<?, ?> record) {
    if (!record.containsKey("control")) {
      return (String) record.get("content");
    }
    Map<String, Object> control = new LinkedHashMap<>();
    control.put("control_id", record.get("key"));
    control.put("issued_ms", 0L);
    ((Map<?, ?>) record.get("control")).forEach((name, value) -> control.put((String) name, value));
    control.computeIfPresent("issued_ms", (name, ms) -> NOW + (Long) ms);
    control.computeIfPresent("until_ms", (name, ms) -> NOW + (Long) ms);
    control.computeIfPresent("key_id", (name, signer) -> SIGNERS.get(signer).id());
    TestKey signer = SIGNERS.get(name(record, "signer", "approve"));
    Map<String, Object> envelope = signer.envelope("controls", JsonWriter.write(control));
    if (record.containsKey("signed_as")) {
      envelope.put("key_id", SIGNERS.get(record.get("signed_as")).id());
    }
    return JsonWriter.write(envelope);
  }

  private static String name(Map<?, ?> record, String field, String otherwise) {
    return record.containsKey(field) ? (String) record.get(field) : otherwise;
  }
}
