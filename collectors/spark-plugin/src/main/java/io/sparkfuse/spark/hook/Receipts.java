package io.sparkfuse.spark.hook;

import io.sparkfuse.contracts.Signal;
import io.sparkfuse.spark.facts.Application;
import io.sparkfuse.spark.json.JsonWriter;
import io.sparkfuse.spark.settings.PluginSettings.FuseMode;
import io.sparkfuse.spark.transport.FactQueue;
import io.sparkfuse.spark.transport.QueuedRecord;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.UUID;

/** Writes an Action message for each step of a signal, as JSON. */
final class Receipts {
  private final FactQueue queue;
  private final Application application;
  private final FuseMode mode;

  Receipts(FactQueue queue, Application application, FuseMode mode) {
    this.queue = queue;
    this.application = application;
    this.mode = mode;
  }

  /** Sends a receipt; {@code observed} contains the counters that were used. */
  void send(Signal signal, SignalResult result, Map<String, String> observed) {
    Map<String, Object> action = new LinkedHashMap<>();
    action.put("action_id", UUID.randomUUID().toString());
    action.put("signal_id", orNull(signal.getSignalId()));
    action.put("actor", "hook");
    action.put("cluster", application.cluster);
    action.put("app_id", application.id);
    action.put("app_attempt", application.attempt);
    action.put("app_start_ms", application.startMs);
    action.put("rule", orNull(signal.getRule()));
    action.put("action", orNull(signal.getAction()));
    action.put("mode", mode.text());
    action.put("outcome", result.outcome);
    action.put("reason", ReasonText.clean(result.reason));
    if (signal.hasStageId()) {
      action.put("stage_id", signal.getStageId());
      action.put("stage_attempt", signal.getStageAttempt());
    }
    if (result.killedTasks > 0) {
      action.put("killed_tasks", result.killedTasks);
    }
    action.put("at_ms", System.currentTimeMillis());
    if (!observed.isEmpty()) {
      action.put("observed", observed);
    }
    action.put("finding_id", orNull(signal.getFindingId()));
    byte[] json = JsonWriter.write(action).getBytes(StandardCharsets.UTF_8);
    queue.offer(QueuedRecord.receipt(json));
  }

  private static String orNull(String text) {
    return text.isEmpty() ? null : ReasonText.clean(text);
  }
}
