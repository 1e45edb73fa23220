package io.sparkfuse.spark.hook;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sparkfuse.spark.json.JsonWriter;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class HookSimulatorTest {
  private final HookSimulator simulator = new HookSimulator();
  private final HookScenario scenario = new HookScenario();

  private Map<String, Object> send(Object... fields) {
    return simulator.answer(JsonWriter.write(map(fields)));
  }

  private static Map<String, Object> map(Object... fields) {
    Map<String, Object> map = new LinkedHashMap<>();
    for (int i = 0; i < fields.length; i += 2) {
      map.put((String) fields[i], fields[i + 1]);
    }
    return map;
  }

  private static Map<String, Object> control(String id, Object... fields) {
    Map<String, Object> control = map(fields);
    control.put("control_id", id);
    String value = HookScenario.APPROVE.signed("controls", JsonWriter.write(control));
    return map("key", id, "value", value, "timestamp_ms", HookScenario.NOW);
  }

  @BeforeEach
  void configure() {
    send(
        "do",
        "configure",
        "cluster",
        "prod",
        "app_id",
        "app-1",
        "app_attempt",
        1,
        "app_start_ms",
        17,
        "mode",
        "act",
        "keys",
        HookScenario.KEYS,
        "policies",
        Collections.singletonList(HookScenario.POLICY));
    send("do", "time", "clock_ms", 0, "broker_ms", HookScenario.NOW);
    send("do", "counters", "columns", HookScenario.columns(500), "progress_age_ms", 1);
    send("do", "outcome", "ended", true, "freed", 2);
    Map<String, Object> arm =
        control("arm", "kind", "arm", "action", "cancel_stage", "until_ms", HookScenario.NOW + 9);
    assertEquals(
        Collections.singletonMap("ok", true),
        send("do", "controls", "records", Collections.singletonList(arm)));
  }

  private Map<String, Object> deliver(List<?> meanwhile) {
    String value = HookScenario.ACT.signed("signals", JsonWriter.write(scenario.signal(7)));
    return send(
        "do",
        "deliver",
        "key",
        "app-1",
        "value",
        value,
        "timestamp_ms",
        HookScenario.NOW,
        "meanwhile",
        meanwhile);
  }

  private static List<Object> outcomes(Map<String, Object> answer) {
    return ((List<?>) answer.get("receipts"))
        .stream().map(each -> ((Map<?, ?>) each).get("outcome")).collect(Collectors.toList());
  }

  @Test
  void deliveredSignalIsAnsweredWithReceiptsAndActs() {
    Map<String, Object> answer = deliver(Collections.emptyList());

    assertEquals(Arrays.asList("received", "requested", "ended"), outcomes(answer));
    Map<?, ?> act = (Map<?, ?>) ((List<?>) answer.get("acts")).get(0);
    assertEquals("s-7", act.get("signal_id"));
    assertEquals("open", ((Map<?, ?>) send("do", "job").get("state")).get("state"));
  }

  @Test
  void commandsRunBetweenTwoAcknowledgements() {
    List<?> hold = Collections.singletonList(control("hold", "kind", "hold"));
    Map<String, Object> answer =
        deliver(
            Arrays.asList(
                Collections.emptyList(),
                Collections.singletonList(map("do", "controls", "records", hold))));

    assertEquals(Arrays.asList("received", "requested", "held"), outcomes(answer));
    assertEquals(Collections.emptyList(), answer.get("acts"));
  }

  @Test
  void unknownCommandIsAnError() {
    assertTrue(send("do", "fly").containsKey("error"));
    assertTrue(simulator.answer("no JSON").containsKey("error"));
  }
}
