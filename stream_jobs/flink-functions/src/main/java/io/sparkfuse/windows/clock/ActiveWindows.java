package io.sparkfuse.windows.clock;

import com.google.protobuf.InvalidProtocolBufferException;
import io.sparkfuse.contracts.LiveRow;
import io.sparkfuse.windows.application.Application;
import io.sparkfuse.windows.wire.ActiveWindowsState;
import java.util.TreeSet;

/**
 * What ApplicationClock remembers of one application: in which windows anything came of it.
 *
 * <p>Windows that are worked off late come many at once, before the first of them passes, so each
 * is asked for by its end and what came later is as if it had not come yet.
 */
final class ActiveWindows {
  /** An application that is silent for a day is over, whatever it said last. [ms] */
  static final long SILENT_MS = 86_400_000;

  private final LiveRow envelope;
  private final TreeSet<Long> heard = new TreeSet<>();
  private Long endedAtMs;

  private ActiveWindows(LiveRow envelope) {
    this.envelope = envelope;
  }

  /** As it was saved, or a new one of the application of that envelope when nothing was. */
  static ActiveWindows restore(byte[] saved, LiveRow envelope)
      throws InvalidProtocolBufferException {
    if (saved == null) {
      return new ActiveWindows(envelope);
    }
    ActiveWindowsState application = ActiveWindowsState.parseFrom(saved);
    ActiveWindows watch = new ActiveWindows(application.getEnvelope());
    watch.heard.addAll(application.getHeardAtMsList());
    watch.endedAtMs = application.hasEndedAtMs() ? (Long) application.getEndedAtMs() : null;
    return watch;
  }

  byte[] save() {
    ActiveWindowsState.Builder saved =
        ActiveWindowsState.newBuilder().setEnvelope(envelope).addAllHeardAtMs(heard);
    if (endedAtMs != null) {
      saved.setEndedAtMs(endedAtMs);
    }
    return saved.build().toByteArray();
  }

  LiveRow envelope() {
    return envelope;
  }

  /** Something came in a window; of windows that passed by the watermark only the last is kept. */
  void hear(long windowEndMs, Long watermarkMs) {
    heard.add(windowEndMs);
    Long passed = watermarkMs == null ? null : heard.floor(watermarkMs + 1);
    if (passed != null) {
      heard.headSet(passed).clear();
    }
  }

  void end(long windowEndMs) {
    endedAtMs = windowEndMs;
  }

  /** Whether nothing came in the window that ends now, and something did before. */
  boolean isQuiet(long windowEndMs) {
    Long last = heard.floor(windowEndMs);
    return last != null && last < windowEndMs;
  }

  /** Whether it said nothing for so long that it is told no more. */
  boolean isOver(long windowEndMs) {
    boolean ended = endedAtMs != null && endedAtMs <= windowEndMs;
    Long last = heard.floor(windowEndMs);
    if (last == null) {
      // An end that came behind its window, which said nothing else, is all there is.
      return ended && heard.isEmpty();
    }
    return windowEndMs - last >= (ended ? Application.GRACE_MS : SILENT_MS);
  }

  /** What is left when all until then is forgotten; null when nothing is. */
  ActiveWindows after(long windowEndMs) {
    heard.headSet(windowEndMs, true).clear();
    if (endedAtMs != null && endedAtMs <= windowEndMs) {
      endedAtMs = null;
    }
    return heard.isEmpty() && endedAtMs == null ? null : this;
  }
}
