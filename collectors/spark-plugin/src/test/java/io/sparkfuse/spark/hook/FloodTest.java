package io.sparkfuse.spark.hook;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sparkfuse.spark.json.JsonWriter;
import java.security.interfaces.ECPublicKey;
import java.util.Arrays;
import java.util.Collections;
import java.util.Map;
import org.junit.jupiter.api.Test;

/**
 * A flood of records costs the driver little, and the hook obeys again when the flood has ended.
 */
class FloodTest {
  private static final int RECORDS = 9_990;
  private static final int STEP_MS =
      12; // all records arrive within two minutes; at the end nothing is left

  private static final class CountingKeys extends PublicKeys {
    private long verified;

    @Override
    boolean verifies(ECPublicKey key, String text, String signature) {
      verified++;
      return super.verifies(key, text, signature);
    }
  }

  private final HookScenario all = new HookScenario();
  private final CountingKeys keys = new CountingKeys();
  private final Hook hook = hook();

  private Hook hook() {
    keys.with(HookScenario.KEYS);
    return new Hook(
        HookScenario.OWN, keys, all.policies, all.state, all.edge.edge(), all.faults, all.gates);
  }

  private void receive(String value) {
    hook.receive(new SignalRecord("app-1", value, all.edge.brokerMs(), true));
  }

  private void flood(String value) {
    for (int i = 0; i < RECORDS; i++) {
      receive(value);
      all.edge.clockMs += STEP_MS;
    }
  }

  private String signed(TestKey key, Map<String, Object> signal) {
    return key.signed("signals", JsonWriter.write(signal));
  }

  private long counted() {
    return all.edge.receipts.stream()
        .filter(each -> each.get("unverified_records") != null)
        .mapToLong(each -> (Long) each.get("unverified_records"))
        .sum();
  }

  @Test
  void signaturesAreVerifiedAtALimitedRate() {
    String wrong = TestKey.of("act").signed("signals", JsonWriter.write(all.signal(7)));
    flood(wrong.replaceAll("(\"key_id\":\")[0-9a-f]+", "$1" + HookScenario.ACT.id()));

    long limit = Hook.VERIFIED_AT_ONCE + Hook.VERIFIED_PER_SECOND * RECORDS * STEP_MS / 1_000;
    assertTrue(keys.verified >= limit - 1 && keys.verified <= limit, keys.verified + " signatures");
    all.edge.clockMs += Hook.QUIET_MS;
    receive("not JSON");
    assertEquals(RECORDS + 1, counted());
    assertFalse(all.edge.stopped());

    receive(signed(HookScenario.ACT, all.signal(8)));
    assertEquals(Arrays.asList("cancel_stage"), all.edge.acts);
  }

  @Test
  void copiesOfAValidSignalAreHandledAtALimitedRate() {
    all.edge.observed.columns = HookScenario.columns(0); // the hook refuses each of them
    flood(signed(HookScenario.ACT, all.signal(7)));

    long limit = Hook.VERIFIED_AT_ONCE + Hook.VERIFIED_PER_SECOND * RECORDS * STEP_MS / 1_000;
    long received =
        all.edge.receipts.stream().filter(each -> "received".equals(each.get("outcome"))).count();
    assertTrue(received <= limit, received + " receipts that wait for the broker");
    assertFalse(all.edge.stopped());
  }

  @Test
  void signaturesOfUnknownKeysAreNotVerified() {
    flood(signed(TestKey.of("act"), all.signal(7)));
    assertEquals(0, keys.verified);

    receive(signed(HookScenario.ACT, all.signal(8)));
    assertEquals(Arrays.asList("cancel_stage"), all.edge.acts);
  }

  @Test
  void longRecordIsNotParsed() {
    String evidence = String.join("", Collections.nCopies(Hook.MAX_CHARS, "x"));
    receive(signed(HookScenario.ACT, all.signal(7, "evidence", evidence)));

    assertEquals(0, keys.verified);
    assertTrue(all.edge.receipts.get(0).get("reason").toString().contains("longer than"));
    assertFalse(all.edge.stopped());
  }
}
