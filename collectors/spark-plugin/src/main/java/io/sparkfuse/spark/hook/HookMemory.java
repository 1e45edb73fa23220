package io.sparkfuse.spark.hook;

import io.sparkfuse.contracts.Signal;
import java.util.ArrayDeque;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/**
 * What the hook has accepted and done: the highest epoch and generation, the stops of the last
 * hour, and the approvals that were used.
 *
 * <p>Signals that switch the collector have epochs and generations of their own, so that the holder
 * of a switch key cannot make the controller's signals appear old.
 */
final class HookMemory {
  private static final long HOUR_MS = 3_600_000;

  /** The contents of the memory at one moment. Immutable. */
  static final class View {
    final long epoch;
    final long generation;
    final int stopsOfLastHour;
    final int applicationStops;
    final Set<String> approvals;

    View(long epoch, long generation, int stops, int applicationStops, Set<String> approvals) {
      this.epoch = epoch;
      this.generation = generation;
      this.stopsOfLastHour = stops;
      this.applicationStops = applicationStops;
      this.approvals = Collections.unmodifiableSet(new HashSet<>(approvals));
    }
  }

  private final Map<String, long[]> newest = new HashMap<>();
  private final ArrayDeque<Long> stopsMs = new ArrayDeque<>();
  private final Set<String> approvals = new HashSet<>();
  private int applicationStops;

  /** Returns what is remembered for a signal's purpose; {@code nowMs} is a monotonic time. */
  View view(Signal signal, long nowMs) {
    while (!stopsMs.isEmpty() && nowMs - stopsMs.peekFirst() >= HOUR_MS) {
      stopsMs.removeFirst();
    }
    long[] last = newest.getOrDefault(AdmissionGates.purpose(signal), new long[] {0, 0});
    return new View(last[0], last[1], stopsMs.size(), applicationStops, approvals);
  }

  /** Uses up the generation of a signal. */
  void admit(Signal signal) {
    long[] last = newest.computeIfAbsent(AdmissionGates.purpose(signal), any -> new long[2]);
    last[0] = Math.max(last[0], signal.getEpoch());
    last[1] = Math.max(last[1], signal.getGeneration());
  }

  /** Notes that the application is being stopped, or that this act failed. */
  void stopsApplication(Signal signal, boolean now) {
    if (signal.getAction().equals(Actions.STOP_APPLICATION)) {
      applicationStops += now ? 1 : -1;
    }
  }

  /** Counts a stop that is about to be carried out and marks its approval as used. */
  void spend(Signal signal, long nowMs) {
    stopsMs.addLast(nowMs);
    try {
      approvals.add(MessageReader.approval(signal.getApproval().getPayload()).getApprovalId());
    } catch (IllegalArgumentException none) { // the policy required no approval
    }
  }
}
