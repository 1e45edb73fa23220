package io.sparkfuse.spark.hook;

import io.sparkfuse.contracts.Control;
import io.sparkfuse.contracts.ControlRules;
import io.sparkfuse.contracts.SignedMessage;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Keeps the latest control of each id. The fuse controller follows the same rules
 * (fuse_controller/controls.py); both run the cases of contracts/shared/control_rules.yaml.
 *
 * <p>If a record cannot be verified, nothing is stopped, because the record may have replaced a
 * hold. A key must be valid when the broker appends the record; a control stays valid after a
 * rotation of keys.
 */
final class ControlBook {
  static final String TOPIC = ControlRules.TOPIC;
  static final String HOLD = "hold";
  static final String ARM = "arm";
  static final String REVOKE_KEY = "revoke_key";

  private static final class Entry {
    private final Control control;
    private final String signer;

    private Entry(Control control, String signer) {
      this.control = control;
      this.signer = signer;
    }
  }

  private final PublicKeys keys;
  private final Map<String, Entry> latest = new LinkedHashMap<>();
  private final Map<String, String> unverified = new LinkedHashMap<>();
  private final Set<String> revoked = new HashSet<>();

  ControlBook(PublicKeys keys) {
    this.keys = keys;
  }

  /**
   * Adds one record. A record without a value is ignored: only a signed release ends a hold, not
   * the deletion of its record.
   *
   * @param appended whether the broker set the timestamp
   */
  void put(String key, String value, long timestampMs, boolean appended) {
    if (value == null) {
      return;
    }
    try {
      SignedMessage signed = MessageReader.signed(value);
      Control control = verified(signed, timestampMs, appended);
      JsonFields.require(control.getControlId().equals(key), "the key is not the control's id");
      JsonFields.require(
          ControlRules.KINDS.contains(control.getKind()), "no kind " + control.getKind());
      unverified.remove(key);
      add(key, control, signed.getKeyId());
    } catch (IllegalArgumentException refused) {
      unverified.put(key, refused.getMessage());
    }
  }

  private Control verified(SignedMessage signed, long timestampMs, boolean appended) {
    String fault = keys.unverified(signed, PublicKeys.APPROVE, TOPIC);
    fault = fault == null ? keys.invalid(signed.getKeyId(), timestampMs, revoked) : fault;
    fault = fault == null && !appended ? "the broker did not set its timestamp" : fault;
    JsonFields.require(fault == null, fault);
    return MessageReader.control(signed.getPayload());
  }

  private void add(String key, Control control, String signer) {
    if (control.getKind().equals(REVOKE_KEY)) {
      // A key cannot revoke itself: otherwise a thief could lock out the key's owner.
      if (!control.getKeyId().equals(signer)) {
        revoked.add(control.getKeyId());
      }
      return;
    }
    Entry known = latest.get(key);
    if (known == null || control.getIssuedMs() >= known.control.getIssuedMs()) {
      latest.put(key, new Entry(control, signer));
    }
  }

  /** Returns the latest controls, without the armings whose key was revoked. */
  ControlSnapshot snapshot() {
    List<Control> controls = new ArrayList<>();
    for (Entry entry : latest.values()) {
      if (!entry.control.getKind().equals(ARM) || !revoked.contains(entry.signer)) {
        controls.add(entry.control);
      }
    }
    String fault = null;
    for (Map.Entry<String, String> each : unverified.entrySet()) {
      fault = "the control " + each.getKey() + " cannot be verified: " + each.getValue();
    }
    return ControlSnapshot.of(fault, controls, revoked);
  }
}
