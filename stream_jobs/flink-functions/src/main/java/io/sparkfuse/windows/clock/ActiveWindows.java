package io.sparkfuse.windows.clock;

import com.google.protobuf.InvalidProtocolBufferException;
import io.sparkfuse.contracts.LiveRow;
import io.sparkfuse.windows.StateFormat;
import io.sparkfuse.windows.application.Application;
import io.sparkfuse.windows.wire.ActiveWindowsState;
import java.util.TreeSet;

/**
 * The state of ApplicationClock for one application: the windows in which any of its facts arrived.
 *
 * <p>When the job catches up, facts of many windows can arrive before the first of these windows
 * closes. Each method therefore refers to the end of one window and ignores later windows.
 */
final class ActiveWindows {
  /** An application that is silent for a day is no longer reported. [ms] */
  static final long SILENT_MS = 86_400_000;

  private final LiveRow envelope;
  private final TreeSet<Long> activeEndsMs = new TreeSet<>();
  private Long endedAtMs;

  private ActiveWindows(LiveRow envelope) {
    this.envelope = envelope;
  }

  /** Restores the saved state, or creates one for the envelope's application if there is none. */
  static ActiveWindows restore(byte[] saved, LiveRow envelope)
      throws InvalidProtocolBufferException {
    if (saved == null) {
      return new ActiveWindows(envelope);
    }
    ActiveWindowsState application = ActiveWindowsState.parseFrom(saved);
    StateFormat.require(application.getStateFormat());
    ActiveWindows windows = new ActiveWindows(application.getEnvelope());
    windows.activeEndsMs.addAll(application.getActiveAtMsList());
    windows.endedAtMs = application.hasEndedAtMs() ? (Long) application.getEndedAtMs() : null;
    return windows;
  }

  byte[] save() {
    ActiveWindowsState.Builder saved =
        ActiveWindowsState.newBuilder().setEnvelope(envelope).addAllActiveAtMs(activeEndsMs);
    if (endedAtMs != null) {
      saved.setEndedAtMs(endedAtMs);
    }
    return saved.build().toByteArray();
  }

  LiveRow envelope() {
    return envelope;
  }

  /** Records that facts arrived in a window; of the closed windows only the last one is kept. */
  void addActive(long windowEndMs, Long watermarkMs) {
    activeEndsMs.add(windowEndMs);
    Long closed = watermarkMs == null ? null : activeEndsMs.floor(watermarkMs + 1);
    if (closed != null) {
      activeEndsMs.headSet(closed).clear();
    }
  }

  void end(long windowEndMs) {
    endedAtMs = windowEndMs;
  }

  /** Whether facts arrived in earlier windows, but none in the window that ends now. */
  boolean isQuiet(long windowEndMs) {
    Long last = activeEndsMs.floor(windowEndMs);
    return last != null && last < windowEndMs;
  }

  /** Whether the application was silent for so long that it is no longer reported. */
  boolean isExpired(long windowEndMs) {
    boolean ended = endedAtMs != null && endedAtMs <= windowEndMs;
    Long last = activeEndsMs.floor(windowEndMs);
    if (last == null) {
      // Without active windows, the state can only contain a late end of the application, which
      // needs no rows.
      return ended && activeEndsMs.isEmpty();
    }
    return windowEndMs - last >= (ended ? Application.GRACE_MS : SILENT_MS);
  }

  /** Drops the windows up to {@code windowEndMs}; returns null if nothing remains. */
  ActiveWindows dropUntil(long windowEndMs) {
    activeEndsMs.headSet(windowEndMs, true).clear();
    if (endedAtMs != null && endedAtMs <= windowEndMs) {
      endedAtMs = null;
    }
    return activeEndsMs.isEmpty() && endedAtMs == null ? null : this;
  }
}
