package io.sparkfuse.spark.hook;

import io.sparkfuse.contracts.Condition;
import io.sparkfuse.contracts.Signal;
import io.sparkfuse.contracts.SignedSignal;
import io.sparkfuse.spark.json.JsonReader;
import java.util.List;
import java.util.Map;

/**
 * Parses signals from the JSON of their Protobuf schema. Unknown fields are ignored, because
 * optional fields can be added; a field of the wrong type is an error.
 */
final class SignalReader {
  private SignalReader() {}

  /**
   * Parses the envelope.
   *
   * @throws IllegalArgumentException if the text is not a signed signal
   */
  static SignedSignal signed(String json) {
    Map<?, ?> map = object(JsonReader.read(json), "a signed signal");
    return SignedSignal.newBuilder()
        .setPayload(text(map, "payload"))
        .setSignature(text(map, "signature"))
        .setKeyId(text(map, "key_id"))
        .build();
  }

  /**
   * Parses the signal in the envelope.
   *
   * @throws IllegalArgumentException if the text is not a signal
   */
  static Signal signal(String json) {
    Map<?, ?> map = object(JsonReader.read(json), "a signal");
    Signal.Builder signal =
        Signal.newBuilder()
            .setSignalId(text(map, "signal_id"))
            .setCluster(text(map, "cluster"))
            .setAppId(text(map, "app_id"))
            .setAppAttempt((int) whole(map, "app_attempt"))
            .setAppStartMs(whole(map, "app_start_ms"))
            .setGeneration(whole(map, "generation"))
            .setRule(text(map, "rule"))
            .setAction(text(map, "action"))
            .setEvidence(text(map, "evidence"))
            .setFindingId(text(map, "finding_id"))
            .setIssuedMs(whole(map, "issued_ms"))
            .setExpiresMs(whole(map, "expires_ms"))
            .setOverrideHint(text(map, "override_hint"))
            .setDashboardUrl(text(map, "dashboard_url"));
    if (map.get("stage_id") != null) {
      signal.setStageId((int) whole(map, "stage_id"));
      signal.setStageAttempt((int) whole(map, "stage_attempt"));
    }
    Object predicate = map.get("predicate");
    if (predicate != null) {
      require(predicate instanceof List, "predicate is not a list");
      for (Object each : (List<?>) predicate) {
        signal.addPredicate(condition(object(each, "a condition")));
      }
    }
    return signal.build();
  }

  private static Condition condition(Map<?, ?> map) {
    Object threshold = map.get("threshold");
    // The JSON of proto3 omits fields that are not set; a zero that is set is written.
    require(threshold == null || threshold instanceof Number, "threshold is not a number");
    return Condition.newBuilder()
        .setColumn(text(map, "column"))
        .setOperator(text(map, "operator"))
        .setThreshold(threshold == null ? 0 : ((Number) threshold).doubleValue())
        .build();
  }

  private static Map<?, ?> object(Object value, String what) {
    require(value instanceof Map, "expected a JSON object for " + what);
    return (Map<?, ?>) value;
  }

  private static String text(Map<?, ?> map, String key) {
    Object value = map.get(key);
    require(value == null || value instanceof String, key + " is not a string");
    return value == null ? "" : (String) value;
  }

  private static long whole(Map<?, ?> map, String key) {
    Object value = map.get(key);
    require(value == null || value instanceof Long, key + " is not a whole number");
    return value == null ? 0 : (Long) value;
  }

  private static void require(boolean holds, String otherwise) {
    if (!holds) {
      throw new IllegalArgumentException(otherwise);
    }
  }
}
