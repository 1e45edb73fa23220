package io.sparkfuse.windows.application;

import io.sparkfuse.windows.wire.GrowthState;
import java.util.ArrayList;
import java.util.List;

/**
 * Samples of a quantity since its lowest point within a horizon. A quantity that only oscillates
 * returns to its lowest values; a quantity that grows without bound does not.
 *
 * <p>At most {@link #MAX_SAMPLES} samples are kept: if there are more, one of the two that are
 * closest in time is removed.
 */
final class Growth {
  static final int MAX_SAMPLES = 60;

  /** Fewer samples do not show a direction. */
  static final int MIN_SAMPLES = 6;

  /** A value is near the lowest point if it has this share of the rise, or less. */
  private static final double LOW_SHARE = 0.1;

  private final long horizonMs;
  private final List<Sample> samples = new ArrayList<>();

  /**
   * One measurement.
   *
   * @param inputRows rows that the query had read until then
   * @param watermarkMs the watermark; 0 if there is none
   */
  record Sample(long atMs, long value, long inputRows, long watermarkMs) {}

  /** The lowest values of the first, second and last third of the time since the lowest point. */
  record Thirds(long first, long second, long third) {}

  Growth(long horizonMs) {
    this.horizonMs = horizonMs;
  }

  static Growth restore(GrowthState saved, long horizonMs) {
    Growth growth = new Growth(horizonMs);
    for (int place = 0; place < saved.getAtMsCount(); place++) {
      growth.samples.add(
          new Sample(
              saved.getAtMs(place),
              saved.getValues(place),
              saved.getInputRows(place),
              saved.getWatermarksMs(place)));
    }
    return growth;
  }

  GrowthState save() {
    GrowthState.Builder state = GrowthState.newBuilder();
    for (Sample each : samples) {
      state
          .addAtMs(each.atMs)
          .addValues(each.value)
          .addInputRows(each.inputRows)
          .addWatermarksMs(each.watermarkMs);
    }
    return state.build();
  }

  /** Adds a sample. Samples before the lowest point, or older than the horizon, are removed. */
  void add(Sample sample) {
    samples.removeIf(each -> each.atMs < sample.atMs - horizonMs);
    samples.add(sample);
    int lowest = 0;
    for (int place = 1; place < samples.size(); place++) {
      if (samples.get(place).value <= samples.get(lowest).value) {
        lowest = place;
      }
    }
    samples.subList(0, lowest).clear();
    if (samples.size() > MAX_SAMPLES) {
      thin();
    }
  }

  /** Replaces the last sample if the new one is lower, and adds no further sample. */
  void lowerLast(Sample sample) {
    if (samples.isEmpty()) {
      add(sample);
    } else if (sample.value < samples.get(samples.size() - 1).value) {
      samples.remove(samples.size() - 1);
      add(sample);
    }
  }

  /**
   * Removes the higher one of the two neighbours that are closest in time, so that the samples
   * remain spread over the time. The first and the last sample, the lowest and the newest one,
   * stay.
   */
  private void thin() {
    int closest = 1;
    for (int place = 2; place < samples.size() - 2; place++) {
      if (stepMs(place) < stepMs(closest)) {
        closest = place;
      }
    }
    boolean higher = samples.get(closest).value > samples.get(closest + 1).value;
    samples.remove(higher ? closest : closest + 1);
  }

  private long stepMs(int place) {
    return samples.get(place + 1).atMs - samples.get(place).atMs;
  }

  /** Returns the rise: the samples since the quantity was last near its lowest point. */
  Rise rise() {
    long lowest = samples.get(0).value;
    double low = lowest + LOW_SHARE * (samples.get(samples.size() - 1).value - lowest);
    int start = 0;
    for (int place = 0; place < samples.size(); place++) {
      if (samples.get(place).value <= low) {
        start = place;
      }
    }
    return new Rise(List.copyOf(samples.subList(start, samples.size())));
  }

  /** The samples of a rise; there is at least one. */
  record Rise(List<Sample> samples) {
    int size() {
      return samples.size();
    }

    /** Time from the low point until the last sample. [ms] */
    long spanMs() {
      return last().atMs - samples.get(0).atMs;
    }

    /** Returns the lowest value of each third; null if a third has no sample or all are too few. */
    Thirds thirds() {
      Long[] lowest = new Long[3];
      for (Sample each : samples) {
        long sinceMs = each.atMs - samples.get(0).atMs;
        int part = spanMs() == 0 ? 0 : (int) Math.min(2, 3 * sinceMs / spanMs());
        lowest[part] = lowest[part] == null ? each.value : Math.min(lowest[part], each.value);
      }
      boolean complete = samples.size() >= MIN_SAMPLES && lowest[1] != null && lowest[2] != null;
      return complete ? new Thirds(lowest[0], lowest[1], lowest[2]) : null;
    }

    /** Rows read in the last third divided by rows read in the first third; null if unknown. */
    Double inputRatio() {
      double first = inputRowsAt(1 / 3.0) - inputRowsAt(0);
      double third = inputRowsAt(1) - inputRowsAt(2 / 3.0);
      return first > 0 ? third / first : null;
    }

    /** Rows read until a share of the time, by linear interpolation between the samples. */
    private double inputRowsAt(double share) {
      double atMs = samples.get(0).atMs + share * spanMs();
      Sample before = samples.get(0);
      for (Sample each : samples) {
        if (each.atMs >= atMs) {
          long stepMs = each.atMs - before.atMs;
          double part = stepMs == 0 ? 1 : (atMs - before.atMs) / stepMs;
          return before.inputRows + part * (each.inputRows - before.inputRows);
        }
        before = each;
      }
      return before.inputRows;
    }

    /**
     * By how much the watermark has moved since it was first set; null without a watermark. [ms]
     */
    Long watermarkMovedMs() {
      for (Sample each : samples) {
        if (each.watermarkMs > 0) {
          return last().watermarkMs - each.watermarkMs;
        }
      }
      return null;
    }

    private Sample last() {
      return samples.get(samples.size() - 1);
    }
  }
}
