package io.sparkfuse.spark.hook;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sparkfuse.contracts.Signal;
import io.sparkfuse.spark.json.JsonWriter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class ControlBookTest {
  private static final long NOW = HookScenario.NOW;
  private static final TestKey APPROVE = HookScenario.APPROVE;
  private static final Signal SIGNAL =
      Signal.newBuilder()
          .setRule("spill")
          .setJobKey("nightly/load")
          .setAppId("app-1")
          .setAction("cancel_stage")
          .build();

  private final PublicKeys keys = PublicKeys.of(HookScenario.KEYS);
  private final ControlBook book = new ControlBook(keys);

  private static String value(TestKey key, String id, Object... fields) {
    Map<String, Object> control = new LinkedHashMap<>();
    control.put("control_id", id);
    control.put("issued_ms", NOW);
    for (int i = 0; i < fields.length; i += 2) {
      control.put((String) fields[i], fields[i + 1]);
    }
    return key.signed("controls", JsonWriter.write(control));
  }

  private void put(TestKey key, String id, Object... fields) {
    book.put(id, value(key, id, fields), NOW, true);
  }

  private boolean held() {
    return book.snapshot().hold(SIGNAL, "prod", NOW) != null;
  }

  private boolean armed() {
    return book.snapshot().arms(SIGNAL, "prod", NOW);
  }

  @Test
  void releaseEndsHold() {
    put(APPROVE, "h", "kind", "hold");
    assertTrue(held());

    put(APPROVE, "h", "kind", "hold", "released", true);
    assertFalse(held());
  }

  @Test
  void holdEndsAtItsTime() {
    put(APPROVE, "h", "kind", "hold", "until_ms", NOW + 1);
    assertTrue(held());

    put(APPROVE, "h", "kind", "hold", "until_ms", NOW);
    assertFalse(held());
  }

  @Test
  void olderOrDeletedRecordDoesNotEndHold() {
    put(APPROVE, "h", "kind", "hold");
    put(APPROVE, "h", "kind", "hold", "released", true, "issued_ms", NOW - 1);
    book.put("h", null, NOW, true);

    assertTrue(held());
  }

  @Test
  void compactedTopicGivesSameControls() {
    List<String[]> topic = new ArrayList<>();
    topic.add(new String[] {"h", value(APPROVE, "h", "kind", "hold")});
    topic.add(
        new String[] {
          "a", value(APPROVE, "a", "kind", "arm", "action", "cancel_stage", "until_ms", NOW + 1)
        });
    topic.add(new String[] {"h", value(APPROVE, "h", "kind", "hold", "released", true)});
    topic.forEach(each -> book.put(each[0], each[1], NOW, true));
    ControlBook compacted = new ControlBook(keys);
    topic.subList(1, 3).forEach(each -> compacted.put(each[0], each[1], NOW, true));

    for (ControlBook each : Arrays.asList(book, compacted)) {
      assertEquals(null, each.snapshot().hold(SIGNAL, "prod", NOW));
      assertTrue(each.snapshot().arms(SIGNAL, "prod", NOW));
    }
  }

  @Test
  void unverifiedRecordHoldsUntilItIsReplaced() {
    put(TestKey.of("approve"), "h", "kind", "hold", "released", true);
    assertTrue(held());

    put(APPROVE, "h", "kind", "hold", "released", true);
    assertFalse(held());
  }

  @Test
  void recordThatIsNoControlOfItsKeyHolds() {
    List<String> wrong =
        Arrays.asList(
            "no JSON",
            value(APPROVE, "other", "kind", "hold", "released", true),
            value(APPROVE, "h", "kind", "pause"),
            value(HookScenario.ACT, "h", "kind", "hold", "released", true));
    for (String each : wrong) {
      ControlBook one = new ControlBook(keys);
      one.put("h", each, NOW, true);

      assertTrue(one.snapshot().hold(SIGNAL, "prod", NOW).contains("cannot be verified"));
    }
    book.put("h", value(APPROVE, "h", "kind", "hold", "released", true), NOW, false);
    assertTrue(held(), "its writer set the timestamp");
  }

  @Test
  void controlOutlivesItsKey() {
    put(APPROVE, "h", "kind", "hold");

    long yearMs = 31_536_000_000L;
    assertTrue(book.snapshot().hold(SIGNAL, "prod", NOW + yearMs) != null);
    book.put("late", value(APPROVE, "late", "kind", "hold"), NOW + yearMs, true);
    assertTrue(book.snapshot().hold(SIGNAL, "prod", NOW).contains("expired"), "signed too late");
  }

  @Test
  void armingNeedsActionAndEnd() {
    put(APPROVE, "a", "kind", "arm", "action", "cancel_stage");
    put(APPROVE, "b", "kind", "arm", "action", "cancel_jobs", "until_ms", NOW + 1);
    assertFalse(armed());

    put(APPROVE, "c", "kind", "arm", "action", "cancel_stage", "until_ms", NOW + 1);
    assertTrue(armed());
  }

  @Test
  void armingOfRevokedKeyCountsNot() {
    put(APPROVE, "a", "kind", "arm", "action", "cancel_stage", "until_ms", NOW + 1);
    put(APPROVE, "self", "kind", "revoke_key", "key_id", APPROVE.id());
    assertTrue(armed(), "a key cannot revoke itself");

    put(HookScenario.SECURITY, "r", "kind", "revoke_key", "key_id", APPROVE.id());
    assertFalse(armed());
    put(HookScenario.SECURITY, "r", "kind", "revoke_key", "key_id", APPROVE.id(), "released", true);
    assertEquals(Collections.singleton(APPROVE.id()), book.snapshot().revoked, "it is for ever");
  }

  @Test
  void patternsKnowOnlyStarAndQuestionMark() {
    assertTrue(Patterns.matches("nightly_*", "nightly_load"));
    assertTrue(Patterns.matches("*a*b?", "xaxxabc"));
    assertTrue(Patterns.matches("", "anything"));
    assertTrue(Patterns.matches("[prod] job.*", "[prod] job.x"));
    assertFalse(Patterns.matches("[prod] job", "p job"));
    assertFalse(Patterns.matches("a?", "a"));
    assertFalse(Patterns.matches("Load", "load"));
  }
}
