package io.sparkfuse.spark.safety;

import java.util.concurrent.ConcurrentHashMap;

/**
 * Decides what the collector collects: everything, infrequent events only, or only the end of the
 * application.
 *
 * <p>The protection opens if this JVM is short of memory or spends too much time in garbage
 * collection, or if callbacks take too long. After a pause the protection is half-open: everything
 * is collected for {@link #PROBE_MS}, and if the JVM stays healthy, the protection closes. The
 * owner can switch the collector off with a signal or a file. Callbacks read only one volatile
 * field.
 */
public final class CollectorProtection {
  /** How much is collected. */
  public enum Level {
    /** Collects everything. */
    ALL,
    /**
     * Collects starts and ends of the application, jobs, stages and executors, which are
     * infrequent.
     */
    FEW,
    /** Collects only the end of the application. */
    NOTHING
  }

  /** The state of the protection; {@code CLOSED} is the normal state. */
  private enum State {
    CLOSED,
    OPEN,
    HALF_OPEN
  }

  /** Is notified when the level changes. */
  public interface Listener {
    void changed(Level now);
  }

  public static final String SWITCHED_OFF = "switched off";
  static final long PROBE_MS = 21_000;
  static final long MAX_PAUSE_MS = 600_000;

  private final LoadMonitor loadMonitor;
  private final long pauseMs;
  private final Listener listener;
  private final ConcurrentHashMap<String, Boolean> offBy = new ConcurrentHashMap<>();
  private State state = State.CLOSED;
  private String reason = "";
  private long untilMs;
  private long nextPauseMs;
  private volatile Level level = Level.ALL;

  /**
   * Creates a closed protection. When the protection opens, it stays open for {@code pauseMs}; each
   * failed probe doubles this time, up to {@link #MAX_PAUSE_MS}.
   */
  public CollectorProtection(LoadMonitor loadMonitor, long pauseMs, Listener listener) {
    this.loadMonitor = loadMonitor;
    this.pauseMs = pauseMs;
    this.nextPauseMs = pauseMs;
    this.listener = listener;
  }

  /** Returns how much is to be collected now. */
  public Level level() {
    return level;
  }

  /**
   * Switches the collector off or on for one source, such as a signal or a file. The collector is
   * on only if no source has switched it off.
   */
  public synchronized void setOff(String source, boolean off) {
    boolean before = !offBy.isEmpty();
    if (off) {
      offBy.put(source, true);
    } else {
      offBy.remove(source);
    }
    if (before != !offBy.isEmpty()) {
      PluginLog.warn("Sparkfuse: the collector is switched " + (off ? "off" : "on") + by(source));
      loadMonitor.reset();
      updateLevel();
    }
  }

  /** Checks the health of this JVM; a thread of the plugin calls this method every second. */
  public synchronized void check(long nowMs) {
    String overload = loadMonitor.overload(nowMs);
    switch (state) {
      case CLOSED:
        if (overload != null) {
          open(overload, nowMs);
        }
        break;
      case OPEN:
        if (nowMs >= untilMs) {
          state = State.HALF_OPEN;
          untilMs = nowMs + PROBE_MS;
          loadMonitor.reset();
        }
        break;
      default:
        if (overload != null) {
          nextPauseMs = Math.min(MAX_PAUSE_MS, 2 * nextPauseMs);
          open(overload, nowMs);
        } else if (nowMs >= untilMs) {
          close();
        }
    }
    updateLevel();
  }

  /** Returns closed, open or half-open. */
  public synchronized String state() {
    State now = offBy.isEmpty() ? state : State.OPEN;
    return now.name().toLowerCase(java.util.Locale.ROOT).replace('_', '-');
  }

  /** Returns why the state is not closed, or an empty text. */
  public synchronized String reason() {
    return offBy.isEmpty() ? reason : SWITCHED_OFF;
  }

  private void open(String overload, long nowMs) {
    state = State.OPEN;
    reason = overload;
    untilMs = nowMs + nextPauseMs;
    PluginLog.warn(
        "Sparkfuse: tasks and queries are not collected for "
            + nextPauseMs
            + " ms, because the limit of "
            + overload
            + " is exceeded");
  }

  private void close() {
    state = State.CLOSED;
    reason = "";
    nextPauseMs = pauseMs;
    PluginLog.warn("Sparkfuse: all events are collected again");
  }

  private void updateLevel() {
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
