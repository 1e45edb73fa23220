package io.sparkfuse.spark.hook;

import io.sparkfuse.contracts.Signal;
import io.sparkfuse.spark.facts.Application;
import io.sparkfuse.spark.json.JsonWriter;
import io.sparkfuse.spark.settings.PluginSettings.FuseMode;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.UUID;
import java.util.function.LongSupplier;

/** Builds receipts as JSON: what the hook did with a signal. */
final class Receipts {
  private final Application application;
  private final FuseMode mode;
  private final LongSupplier wallMs;

  Receipts(Application application, FuseMode mode, LongSupplier wallMs) {
    this.application = application;
    this.mode = mode;
    this.wallMs = wallMs;
  }

  /** Returns a receipt without gate and counters. */
  String step(Signal signal, String outcome, String reason) {
    return JsonWriter.write(receipt(signal, outcome, reason));
  }

  /**
   * Returns the receipt of a decision, with the gate that refused and the counters that were used.
   */
  String decision(Gates.Verdict verdict, String outcome, String reason) {
    Map<String, Object> receipt = receipt(verdict.context.signal, outcome, reason);
    receipt.put("gate", verdict.gate);
    putObserved(receipt, verdict);
    return JsonWriter.write(receipt);
  }

  /** Returns the receipt of an act that was carried out. */
  String act(Gates.Verdict verdict, ActResult result) {
    Map<String, Object> receipt = receipt(verdict.context.signal, result.outcome(), result.reason);
    receipt.put("freed_tasks", result.freedTasks);
    receipt.put("unfreed_tasks", result.unfreedTasks);
    putObserved(receipt, verdict);
    return JsonWriter.write(receipt);
  }

  /** Returns the receipt of records that were not verified; it repeats none of their content. */
  String unverified(long records, String reason) {
    Map<String, Object> receipt = receipt(Signal.getDefaultInstance(), "refused", reason);
    receipt.put("gate", "signature");
    receipt.put("unverified_records", records);
    return JsonWriter.write(receipt);
  }

  private static void putObserved(Map<String, Object> receipt, Gates.Verdict verdict) {
    Map<String, String> observed = EvidenceGates.counters(verdict.context);
    if (!observed.isEmpty()) {
      receipt.put("observed", observed);
    }
  }

  private Map<String, Object> receipt(Signal signal, String outcome, String reason) {
    Map<String, Object> receipt = new LinkedHashMap<>();
    receipt.put("receipt_id", UUID.randomUUID().toString());
    receipt.put("signal_id", orNull(signal.getSignalId()));
    receipt.put("cluster", application.cluster);
    receipt.put("app_id", application.id);
    receipt.put("app_attempt", application.attempt);
    receipt.put("app_start_ms", application.startMs);
    receipt.put("rule", orNull(signal.getRule()));
    receipt.put("action", orNull(signal.getAction()));
    receipt.put("mode", mode.text());
    receipt.put("outcome", outcome);
    receipt.put("reason", ReasonText.clean(reason));
    if (signal.hasStageId()) {
      receipt.put("stage_id", signal.getStageId());
      receipt.put("stage_attempt", signal.getStageAttempt());
    }
    if (signal.hasQueryId()) {
      receipt.put("query_id", signal.getQueryId());
    }
    if (signal.hasTaskId()) {
      receipt.put("task_id", signal.getTaskId());
    }
    receipt.put("at_ms", wallMs.getAsLong());
    receipt.put("finding_id", orNull(signal.getFindingId()));
    return receipt;
  }

  private static String orNull(String text) {
    return text.isEmpty() ? null : ReasonText.clean(text);
  }
}
