package io.sparkfuse.spark.hook;

import io.sparkfuse.contracts.Signal;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;

/** SHA-256 as hexadecimal digits. */
final class Hashes {
  private Hashes() {}

  static String sha256(String text) {
    return sha256(text.getBytes(StandardCharsets.UTF_8));
  }

  static String sha256(byte[] bytes) {
    try {
      StringBuilder hex = new StringBuilder();
      for (byte each : MessageDigest.getInstance("SHA-256").digest(bytes)) {
        hex.append(Character.forDigit((each >> 4) & 15, 16))
            .append(Character.forDigit(each & 15, 16));
      }
      return hex.toString();
    } catch (NoSuchAlgorithmException missing) { // each JVM must have SHA-256
      throw new IllegalStateException(missing);
    }
  }

  /**
   * Returns the digest of a signal's target; an approval names this digest (see approval.proto).
   */
  static String target(Signal signal) {
    String[] lines = {
      signal.hasCluster() ? signal.getCluster() : "",
      signal.hasAppId() ? signal.getAppId() : "",
      signal.hasAppAttempt() ? Integer.toString(signal.getAppAttempt()) : "",
      signal.hasAppStartMs() ? Long.toString(signal.getAppStartMs()) : "",
      signal.hasRule() ? signal.getRule() : "",
      signal.hasAction() ? signal.getAction() : "",
      signal.hasQueryId() ? Long.toString(signal.getQueryId()) : "",
      signal.hasStageId() ? Integer.toString(signal.getStageId()) : "",
      signal.hasStageAttempt() ? Integer.toString(signal.getStageAttempt()) : "",
      signal.hasTaskId() ? Long.toString(signal.getTaskId()) : "",
      signal.hasPolicyHash() ? signal.getPolicyHash() : ""
    };
    return sha256(String.join("\n", lines));
  }
}
