package io.sparkfuse.spark.hook;

import io.sparkfuse.contracts.Control;
import io.sparkfuse.contracts.Signal;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * All controls up to the end of their topic, or the reason why the end was not reached. Immutable.
 */
final class ControlSnapshot {
  private final String unreachable;
  private final String unverified;
  private final List<Control> controls;

  /** Ids of keys that an operator revoked. */
  final Set<String> revoked;

  private ControlSnapshot(
      String unreachable, String unverified, Collection<Control> controls, Set<String> revoked) {
    this.unreachable = unreachable;
    this.unverified = unverified;
    this.controls = Collections.unmodifiableList(new ArrayList<>(controls));
    this.revoked = Collections.unmodifiableSet(new HashSet<>(revoked));
  }

  static ControlSnapshot unreachable(String reason) {
    return new ControlSnapshot(reason, null, Collections.emptyList(), Collections.emptySet());
  }

  /**
   * Creates a snapshot of the latest holds and armings; {@code unverified} is null if all records
   * were verified.
   */
  static ControlSnapshot of(String unverified, Collection<Control> controls, Set<String> revoked) {
    return new ControlSnapshot(null, unverified, controls, revoked);
  }

  /** Returns why the end of the topic was not reached; null if it was. */
  String unreachable() {
    return unreachable == null ? null : "the controls cannot be read: " + unreachable;
  }

  /** Returns why a signal may not stop anything at the given broker time; null if it may. */
  String hold(Signal signal, String cluster, long nowMs) {
    if (unreachable != null) {
      return unreachable();
    }
    if (unverified != null) {
      return unverified; // an unverified record may have replaced a hold
    }
    for (Control control : controls) {
      if (inForce(control, ControlBook.HOLD, nowMs) && covers(control, signal, cluster)) {
        return "held by " + control.getActor() + ": " + control.getReason();
      }
    }
    return null;
  }

  /** Returns whether an arming allows the action of a signal at the given broker time. */
  boolean arms(Signal signal, String cluster, long nowMs) {
    return controls.stream()
        .anyMatch(
            control ->
                inForce(control, ControlBook.ARM, nowMs)
                    && control.hasUntilMs()
                    && control.getAction().equals(signal.getAction())
                    && covers(control, signal, cluster));
  }

  private static boolean inForce(Control control, String kind, long nowMs) {
    boolean expired = control.hasUntilMs() && nowMs >= control.getUntilMs();
    return control.getKind().equals(kind) && !control.getReleased() && !expired;
  }

  private static boolean covers(Control control, Signal signal, String cluster) {
    return Patterns.matches(control.getCluster(), cluster)
        && Patterns.matches(control.getRule(), signal.getRule())
        && Patterns.matches(control.getJob(), signal.getJobKey())
        && Patterns.matches(control.getApp(), signal.getAppId());
  }
}
