package io.sparkfuse.spark.hook;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sparkfuse.contracts.Condition;
import io.sparkfuse.contracts.Signal;
import io.sparkfuse.spark.facts.Application;
import java.nio.charset.StandardCharsets;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.Signature;
import java.security.spec.ECGenParameterSpec;
import java.util.Base64;
import java.util.Collections;
import java.util.Map;
import org.junit.jupiter.api.Test;

class HookTest {
  private static final long NOW = 1_800_000_000_000L;
  private static final Application OWN = new Application("prod", "team", "app-1", 1, 17);

  private static Signal.Builder good() {
    return Signal.newBuilder()
        .setSignalId("s-1")
        .setCluster("prod")
        .setAppId("app-1")
        .setAppAttempt(1)
        .setAppStartMs(17)
        .setGeneration(5)
        .setIssuedMs(NOW - 1_000)
        .setExpiresMs(NOW + 60_000);
  }

  private static String outcome(Signal.Builder signal) {
    SignalResult result = new SignalChecks(OWN).check(signal.build(), NOW);
    return result == null ? "good" : result.outcome;
  }

  @Test
  void onlyValidSignalOfThisRunIsAccepted() {
    assertEquals("good", outcome(good()));
    assertEquals("refused", outcome(good().setAppId("app-2")));
    assertEquals("refused", outcome(good().setCluster("test")));
    assertEquals("refused", outcome(good().setAppAttempt(2)));
    assertEquals("refused", outcome(good().setAppStartMs(16)));
    assertEquals("expired", outcome(good().setExpiresMs(NOW)));
    assertEquals("refused", outcome(good().setExpiresMs(NOW + 120_000)), "121 s of life");
    assertEquals("refused", outcome(good().setIssuedMs(NOW + 61_000).setExpiresMs(NOW + 120_000)));
  }

  @Test
  void generationIsAcceptedOnce() {
    SignalChecks checks = new SignalChecks(OWN);

    assertEquals(null, checks.check(good().build(), NOW));
    assertEquals("refused", checks.check(good().build(), NOW).outcome);
    assertEquals("refused", checks.check(good().setGeneration(4).build(), NOW).outcome);
    assertEquals(null, checks.check(good().setGeneration(6).build(), NOW));
  }

  @Test
  void refusedSignalDoesNotUseGeneration() {
    SignalChecks checks = new SignalChecks(OWN);
    checks.check(good().setGeneration(99).setExpiresMs(NOW).build(), NOW);

    assertEquals(null, checks.check(good().build(), NOW));
  }

  @Test
  void onlyOwnersOfKeyCanSign() throws Exception {
    KeyPairGenerator generator = KeyPairGenerator.getInstance("EC");
    generator.initialize(new ECGenParameterSpec("secp256r1"));
    KeyPair ours = generator.generateKeyPair();
    KeyPair theirs = generator.generateKeyPair();
    String payload = "{\"app_id\":\"app-1\"}";
    byte[] der = ours.getPublic().getEncoded();
    String pem =
        "-----BEGIN PUBLIC KEY-----\n"
            + Base64.getMimeEncoder().encodeToString(der)
            + "\n-----END PUBLIC KEY-----\n";
    PublicKeys keys =
        PublicKeys.of(pem + " , " + Base64.getEncoder().encodeToString(der) + ",/no/such/file");
    String id = PublicKeys.id(der);

    assertTrue(keys.knows(id));
    assertEquals(true, keys.verifies(id, payload, sign(ours, payload)));
    assertEquals(false, keys.verifies(id, payload + " ", sign(ours, payload)));
    assertEquals(false, keys.verifies(id, payload, sign(theirs, payload)));
    assertEquals(false, keys.verifies(id, payload, "no base64"));
    assertEquals(false, keys.verifies("other", payload, sign(ours, payload)));
  }

  private static String sign(KeyPair pair, String payload) throws Exception {
    Signature signature = Signature.getInstance("SHA256withECDSA");
    signature.initSign(pair.getPrivate());
    signature.update(payload.getBytes(StandardCharsets.UTF_8));
    return Base64.getEncoder().encodeToString(signature.sign());
  }

  private static Signal when(String column, String operator, double threshold) {
    return Signal.newBuilder()
        .setStageId(3)
        .addPredicate(
            Condition.newBuilder().setColumn(column).setOperator(operator).setThreshold(threshold))
        .build();
  }

  @Test
  void predicateUsesCountersOfHook() {
    Map<String, Long> columns = Collections.singletonMap("disk_spilled_bytes", 100L);

    Predicate holds = Predicate.evaluate(when("disk_spilled_bytes", ">=", 100), columns);
    assertEquals(null, holds.disagreement());
    assertEquals("100", holds.observed.get("disk_spilled_bytes"));
    assertEquals(
        "in the driver disk_spilled_bytes is 100, not > 100",
        Predicate.evaluate(when("disk_spilled_bytes", ">", 100), columns).disagreement());
    assertEquals(
        "the hook has no counter lost_share",
        Predicate.evaluate(when("lost_share", ">", 0.5), columns).fault());
    assertEquals(
        "there is no operator !=",
        Predicate.evaluate(when("disk_spilled_bytes", "!=", 1), columns).fault());
    assertEquals(
        "stage 3.0 is not running",
        Predicate.evaluate(when("disk_spilled_bytes", ">", 1), Collections.emptyMap())
            .disagreement());
  }

  @Test
  void signalIsParsedFromJson() {
    Signal signal =
        SignalReader.signal(
            "{\"signal_id\":\"s\",\"stage_id\":3,\"app_start_ms\":1795256082965,"
                + "\"new_field\":[1],\"predicate\":[{\"column\":\"running_tasks\","
                + "\"operator\":\">\",\"threshold\":0.5}]}");

    assertEquals(3, signal.getStageId());
    assertEquals(1_795_256_082_965L, signal.getAppStartMs());
    assertEquals(0.5, signal.getPredicate(0).getThreshold());
  }

  @Test
  void reasonIsOneLine() {
    Signal signal =
        good()
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
