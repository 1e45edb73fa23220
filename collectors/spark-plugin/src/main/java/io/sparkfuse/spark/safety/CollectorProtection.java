package io.sparkfuse.spark.safety;

import java.util.concurrent.ConcurrentHashMap;

/**
 * Decides how much the collector does: everything, only what is few, or nothing.
 *
 * <p>It opens by itself when this JVM is short of memory, spends its time collecting garbage, or
 * callbacks take too long; after a pause it is half-open, which means that everything is collected
 * for {@link #PROBE_MS}, and closes when that did no harm. Its owner may switch it off, by a signal
 * or a file. Callbacks only read one volatile field.
 */
public final class CollectorProtection {
  /** How much is collected. */
  public enum Level {
    /** Everything. */
    ALL,
    /** Starts and ends of application, jobs, stages and executors: few, and much hangs on them. */
    FEW,
    /** Nothing but the end of the application. */
    NOTHING
  }

  /** The state, closed being the healthy one. */
  private enum State {
    CLOSED,
    OPEN,
    HALF_OPEN
  }

  /** Told when the level changes. */
  public interface Listener {
    void changed(Level now);
  }

  public static final String SWITCHED_OFF = "switched off";
  static final long PROBE_MS = 21_000;
  static final long MAX_PAUSE_MS = 600_000;

  private final LoadMonitor strain;
  private final long pauseMs;
  private final Listener listener;
  private final ConcurrentHashMap<String, Boolean> offBy = new ConcurrentHashMap<>();
  private State state = State.CLOSED;
  private String reason = "";
  private long untilMs;
  private long nextPauseMs;
  private volatile Level level = Level.ALL;

  /** It stays open for {@code pauseMs}, twice as long after each probe that failed. */
  public CollectorProtection(LoadMonitor strain, long pauseMs, Listener listener) {
    this.strain = strain;
    this.pauseMs = pauseMs;
    this.nextPauseMs = pauseMs;
    this.listener = listener;
  }

  /** How much is to be collected now. */
  public Level level() {
    return level;
  }

  /** Its owner wants it on or off; {@code source} is who says so, and each has its own say. */
  public synchronized void setOff(String source, boolean off) {
    boolean before = !offBy.isEmpty();
    if (off) {
      offBy.put(source, true);
    } else {
      offBy.remove(source);
    }
    if (before != !offBy.isEmpty()) {
      PluginLog.warn("Sparkfuse: the collector is switched " + (off ? "off" : "on") + by(source));
      strain.forget();
      settle();
    }
  }

  /** Looks how this JVM is doing; called every second by a thread of the plugin's. */
  public synchronized void look(long nowMs) {
    String trouble = strain.trouble(nowMs);
    switch (state) {
      case CLOSED:
        if (trouble != null) {
          open(trouble, nowMs);
        }
        break;
      case OPEN:
        if (nowMs >= untilMs) {
          state = State.HALF_OPEN;
          untilMs = nowMs + PROBE_MS;
          strain.forget();
        }
        break;
      default:
        if (trouble != null) {
          nextPauseMs = Math.min(MAX_PAUSE_MS, 2 * nextPauseMs);
          open(trouble, nowMs);
        } else if (nowMs >= untilMs) {
          close();
        }
    }
    settle();
  }

  /** closed, open or half-open. */
  public synchronized String state() {
    State now = offBy.isEmpty() ? state : State.OPEN;
    return now.name().toLowerCase(java.util.Locale.ROOT).replace('_', '-');
  }

  /** Why it is not closed; empty when it is. */
  public synchronized String reason() {
    return offBy.isEmpty() ? reason : SWITCHED_OFF;
  }

  private void open(String trouble, long nowMs) {
    state = State.OPEN;
    reason = trouble;
    untilMs = nowMs + nextPauseMs;
    PluginLog.warn(
        "Sparkfuse: tasks and SQL are not collected for " + nextPauseMs + " ms: " + trouble);
  }

  private void close() {
    state = State.CLOSED;
    reason = "";
    nextPauseMs = pauseMs;
    PluginLog.warn("Sparkfuse: everything is collected again");
  }

  private void settle() {
    Level now = state == State.OPEN ? Level.FEW : Level.ALL;
    now = offBy.isEmpty() ? now : Level.NOTHING;
    if (now != level) {
      level = now;
      listener.changed(now);
    }
  }

  private static String by(String source) {
    return " by " + source;
  }
}
