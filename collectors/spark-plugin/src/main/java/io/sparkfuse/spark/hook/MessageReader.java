package io.sparkfuse.spark.hook;

import io.sparkfuse.contracts.Approval;
import io.sparkfuse.contracts.Control;
import io.sparkfuse.contracts.Signal;
import io.sparkfuse.contracts.SignedMessage;

/**
 * Parses the messages of the fuse from the JSON of their Protobuf schemas. Unknown fields are
 * ignored, because optional fields can be added; a field of the wrong type causes an
 * IllegalArgumentException.
 */
final class MessageReader {
  private MessageReader() {}

  static SignedMessage signed(String json) {
    return signed(JsonFields.read(json, "a signed message"));
  }

  private static SignedMessage signed(JsonFields fields) {
    return SignedMessage.newBuilder()
        .setPayload(fields.text("payload"))
        .setSignature(fields.text("signature"))
        .setKeyId(fields.text("key_id"))
        .setPurpose(fields.text("purpose"))
        .build();
  }

  static Signal signal(String json) {
    JsonFields fields = JsonFields.read(json, "a signal");
    Signal.Builder signal =
        Signal.newBuilder()
            .setSignalId(fields.text("signal_id"))
            .setEpoch(fields.whole("epoch"))
            .setGeneration(fields.whole("generation"))
            .setProbe(fields.flag("probe"))
            .setJobKey(fields.text("job_key"))
            .setJobTag(fields.text("job_tag"))
            .setEvidence(fields.text("evidence"))
            .setFindingId(fields.text("finding_id"))
            .setIssuedMs(fields.whole("issued_ms"))
            .setExpiresMs(fields.whole("expires_ms"))
            .setOverrideHint(fields.text("override_hint"))
            .setDashboardUrl(fields.text("dashboard_url"));
    if (fields.has("exit_code")) {
      signal.setExitCode(fields.small("exit_code"));
    }
    if (fields.has("approval")) {
      signal.setApproval(signed(fields.object("approval")));
    }
    addTarget(fields, signal);
    return signal.build();
  }

  /** Adds the fields that an approval's digest covers; an absent field stays absent. */
  private static void addTarget(JsonFields fields, Signal.Builder signal) {
    if (fields.has("cluster")) {
      signal.setCluster(fields.text("cluster"));
    }
    if (fields.has("app_id")) {
      signal.setAppId(fields.text("app_id"));
    }
    if (fields.has("app_attempt")) {
      signal.setAppAttempt(fields.small("app_attempt"));
    }
    if (fields.has("app_start_ms")) {
      signal.setAppStartMs(fields.whole("app_start_ms"));
    }
    if (fields.has("rule")) {
      signal.setRule(fields.text("rule"));
    }
    if (fields.has("action")) {
      signal.setAction(fields.text("action"));
    }
    if (fields.has("policy_hash")) {
      signal.setPolicyHash(fields.text("policy_hash"));
    }
    if (fields.has("query_id")) {
      signal.setQueryId(fields.whole("query_id"));
    }
    if (fields.has("stage_id")) {
      signal.setStageId(fields.small("stage_id"));
    }
    if (fields.has("stage_attempt")) {
      signal.setStageAttempt(fields.small("stage_attempt"));
    }
    if (fields.has("task_id")) {
      signal.setTaskId(fields.whole("task_id"));
    }
  }

  static Control control(String json) {
    JsonFields fields = JsonFields.read(json, "a control");
    Control.Builder control =
        Control.newBuilder()
            .setControlId(fields.text("control_id"))
            .setKind(fields.text("kind"))
            .setReleased(fields.flag("released"))
            .setActor(fields.text("actor"))
            .setReason(fields.text("reason"))
            .setCluster(fields.text("cluster"))
            .setRule(fields.text("rule"))
            .setJob(fields.text("job"))
            .setApp(fields.text("app"))
            .setAction(fields.text("action"))
            .setKeyId(fields.text("key_id"))
            .setIssuedMs(fields.whole("issued_ms"));
    if (fields.has("until_ms")) {
      control.setUntilMs(fields.whole("until_ms"));
    }
    return control.build();
  }

  static Approval approval(String json) {
    JsonFields fields = JsonFields.read(json, "an approval");
    return Approval.newBuilder()
        .setApprovalId(fields.text("approval_id"))
        .setDigest(fields.text("digest"))
        .setApprover(fields.text("approver"))
        .setIssuedMs(fields.whole("issued_ms"))
        .setExpiresMs(fields.whole("expires_ms"))
        .build();
  }
}
