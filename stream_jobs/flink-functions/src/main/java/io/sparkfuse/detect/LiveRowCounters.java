package io.sparkfuse.detect;

import java.util.Map;
import java.util.TreeMap;

/**
 * Counters of the rows that the detect job read, published as a system property.
 *
 * <p>A system property is the only place that the class loaders of the launcher and of the job
 * share.
 */
final class LiveRowCounters {
  /**
   * Records read, newest end of a window [ms since epoch], then {@code view=rows} for each view.
   */
  static final String PROPERTY = "sparkfuse.detect.live";

  /**
   * The number of names is limited, because the names of views come from the records and can be
   * invalid.
   */
  private static final int MAX_VIEWS = 50;

  private static final long PUBLISH_EVERY_MS = 20;

  private static final Map<String, Long> ROWS = new TreeMap<>();
  private static long records;
  private static long lastEndMs;
  private static long published;

  static {
    // Publishing after each row would cost more than counting the row, and half as much as
    // filtering it.
    Thread publisher = new Thread(LiveRowCounters::publishForever, "sparkfuse-live-counts");
    publisher.setDaemon(true);
    publisher.start();
  }

  private LiveRowCounters() {}

  static synchronized void row(String view, long windowEndMs) {
    records++;
    lastEndMs = Math.max(lastEndMs, windowEndMs);
    String name = view == null ? "" : view;
    if (!ROWS.containsKey(name)) {
      name = ROWS.size() < MAX_VIEWS ? name.replaceAll("[\\s=]", "_") : "others";
    }
    ROWS.merge(name, 1L, Long::sum);
  }

  /** Counts a record that is not a live row as read; the next step counts it as rejected. */
  static synchronized void rejected() {
    records++;
  }

  private static void publishForever() {
    try {
      while (true) {
        publish();
        Thread.sleep(PUBLISH_EVERY_MS);
      }
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
    }
  }

  private static synchronized void publish() {
    if (records == published) {
      return;
    }
    published = records;
    StringBuilder text = new StringBuilder(256);
    text.append(records).append(' ').append(lastEndMs);
    ROWS.forEach((view, rows) -> text.append(' ').append(view).append('=').append(rows));
    System.setProperty(PROPERTY, text.toString());
  }
}
