package io.sparkfuse.detect;

import java.util.Map;
import java.util.TreeMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Counts what the detect job read, row by row, and leaves it as a system property soon after.
 *
 * <p>A property because it is the one place that the launcher's and the job's class loaders share.
 */
final class LiveRowCounters {
  /**
   * Records read, records set aside, newest end of a window [ms since epoch], then {@code
   * view=rows} for each view.
   */
  static final String PROPERTY = "sparkfuse.detect.live";

  private static final Logger LOG = LoggerFactory.getLogger(LiveRowCounters.class);

  /** What a row calls its view is its sender's word; more names than this are none of ours. */
  private static final int MAX_VIEWS = 50;

  private static final long TELL_EVERY_MS = 20;

  private static final Map<String, Long> ROWS = new TreeMap<>();
  private static long records;
  private static long refused;
  private static long lastEndMs;
  private static long told;

  static {
    // Row by row the telling costs more than the counting, and half of what the gate does.
    Thread teller = new Thread(LiveRowCounters::tellOnAndOn, "sparkfuse-live-counts");
    teller.setDaemon(true);
    teller.start();
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

  static synchronized void refused() {
    records++;
    refused++;
    if (refused == 1) {
      LOG.warn(
          "set a record aside: it is no LiveRow, or does not say which application, window or thing"
              + " it speaks of; like ones are only counted");
    }
  }

  private static void tellOnAndOn() {
    try {
      while (true) {
        tellNews();
        Thread.sleep(TELL_EVERY_MS);
      }
    } catch (InterruptedException over) {
      Thread.currentThread().interrupt();
    }
  }

  private static synchronized void tellNews() {
    if (records == told) {
      return;
    }
    told = records;
    StringBuilder text = new StringBuilder(256);
    text.append(records).append(' ').append(refused).append(' ').append(lastEndMs);
    ROWS.forEach((view, rows) -> text.append(' ').append(view).append('=').append(rows));
    System.setProperty(PROPERTY, text.toString());
  }
}
