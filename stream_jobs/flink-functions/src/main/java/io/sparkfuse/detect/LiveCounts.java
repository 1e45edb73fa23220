package io.sparkfuse.detect;

import java.util.Map;
import java.util.TreeMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Counts what the detect job read, row by row, and leaves it as a system property.
 *
 * <p>A property because it is the one place that the launcher's and the job's class loaders share.
 */
final class LiveCounts {
  /**
   * Records read, records set aside, newest end of a window [ms since epoch], then {@code
   * view=rows} for each view.
   */
  static final String PROPERTY = "sparkfuse.detect.live";

  private static final Logger LOG = LoggerFactory.getLogger(LiveCounts.class);

  /** What a row calls its view is its sender's word; more names than this are none of ours. */
  private static final int MAX_VIEWS = 50;

  private static final Map<String, Long> ROWS = new TreeMap<>();
  private static long records;
  private static long refused;
  private static long lastEndMs;

  private LiveCounts() {}

  static synchronized void row(String view, long windowEndMs) {
    records++;
    lastEndMs = Math.max(lastEndMs, windowEndMs);
    String name = view == null ? "" : view;
    if (!ROWS.containsKey(name)) {
      name = ROWS.size() < MAX_VIEWS ? name.replaceAll("[\\s=]", "_") : "others";
    }
    ROWS.merge(name, 1L, Long::sum);
    tell();
  }

  static synchronized void refused() {
    records++;
    refused++;
    if (refused == 1) {
      LOG.warn(
          "set a record aside: it is no LiveRow, or does not say which application, window or thing"
              + " it speaks of; like ones are only counted");
    }
    tell();
  }

  private static void tell() {
    StringBuilder told = new StringBuilder(256);
    told.append(records).append(' ').append(refused).append(' ').append(lastEndMs);
    ROWS.forEach((view, rows) -> told.append(' ').append(view).append('=').append(rows));
    System.setProperty(PROPERTY, told.toString());
  }
}
