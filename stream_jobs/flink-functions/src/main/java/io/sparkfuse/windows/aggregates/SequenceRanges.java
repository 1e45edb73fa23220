package io.sparkfuse.windows.aggregates;

import io.sparkfuse.windows.wire.LaneSequence;
import java.util.Map;
import java.util.TreeMap;

/**
 * A set of numbers, such as the sequence numbers that arrived in one lane, stored as runs without
 * gaps. Numbers that arrive late or twice are counted correctly.
 *
 * <p>If there are more than {@link #MAX_RUNS} runs, the oldest run is settled: its numbers stay
 * counted but are no longer stored. A number below a settled run that arrives later is not counted,
 * so completeness can only be too low.
 */
public final class SequenceRanges {
  static final int MAX_RUNS = 256;

  private final TreeMap<Long, Long> runs = new TreeMap<>();
  private long settled;
  private long settledBelow;
  // The lowest number, once it is settled; -1 while it is stored.
  private long settledLowest = -1;
  private long newestFirst = -1;
  private long newestLast = -2;

  public void add(long number) {
    if (number == newestLast + 1 && newestFirst >= 0) {
      newestLast = number;
      return;
    }
    if (number >= 0) {
      close();
      insert(number, number);
      Map.Entry<Long, Long> newest = runs.pollLastEntry();
      newestFirst = newest.getKey();
      newestLast = newest.getValue();
    }
  }

  void merge(SequenceRanges other) {
    close();
    other.close();
    settled += other.settled;
    settledBelow = Math.max(settledBelow, other.settledBelow);
    if (other.settledLowest >= 0) {
      settledLowest =
          settledLowest < 0 ? other.settledLowest : Math.min(settledLowest, other.settledLowest);
    }
    other.runs.forEach(this::insert);
  }

  /**
   * Adds the totals of another set, whose numbers are other numbers. Afterwards this set has only
   * totals: it contains no more numbers, and no number can be added.
   */
  void addTotals(SequenceRanges other) {
    long seen = seen() + other.seen();
    long expected = expected() + other.expected();
    long lowest = lowest() + other.lowest();
    runs.clear();
    if (seen > 0) {
      // `restore` needs a run to know the end of the settled numbers.
      runs.put(expected - 1, expected - 1);
      settled = seen - 1;
      settledBelow = expected - 1;
      settledLowest = lowest;
    }
  }

  /** Whether a number was added, or is below the end of the settled runs. */
  public boolean contains(long number) {
    close();
    Map.Entry<Long, Long> run = runs.floorEntry(number);
    return number < settledBelow || (run != null && number <= run.getValue());
  }

  long seen() {
    close();
    long seen = settled;
    for (Map.Entry<Long, Long> run : runs.entrySet()) {
      seen += run.getValue() - run.getKey() + 1;
    }
    return seen;
  }

  /**
   * Number of sequence numbers that the collector has assigned, as far as known: the highest number
   * plus one.
   */
  long expected() {
    close();
    return runs.isEmpty() ? settledBelow : runs.lastEntry().getValue() + 1;
  }

  /** The lowest number that was added; 0 if no number was added. */
  long lowest() {
    close();
    if (settledLowest >= 0) {
      return runs.isEmpty() ? settledLowest : Math.min(settledLowest, runs.firstKey());
    }
    return runs.isEmpty() ? 0 : runs.firstKey();
  }

  public void save(LaneSequence.Builder lane) {
    close();
    lane.setSettled(settled);
    if (settledLowest >= 0) {
      lane.setLowest(settledLowest);
    }
    runs.forEach((first, last) -> lane.addFirsts(first).addLasts(last));
  }

  public static SequenceRanges restore(LaneSequence lane) {
    SequenceRanges ranges = new SequenceRanges();
    ranges.settled = lane.getSettled();
    for (int run = 0; run < lane.getFirstsCount(); run++) {
      ranges.runs.put(lane.getFirsts(run), lane.getLasts(run));
    }
    if (ranges.settled > 0 && !ranges.runs.isEmpty()) {
      ranges.settledBelow = ranges.runs.firstKey();
      // 0 in a state of a release that did not store it.
      ranges.settledLowest = lane.getLowest();
    }
    return ranges;
  }

  private void close() {
    if (newestFirst >= 0) {
      long first = newestFirst;
      newestFirst = -1;
      insert(first, newestLast);
      newestLast = -2;
    }
  }

  private void insert(long first, long last) {
    long from = Math.max(first, settledBelow);
    if (last < from) {
      return;
    }
    Map.Entry<Long, Long> before = runs.floorEntry(from);
    if (before != null && before.getValue() >= from - 1) {
      from = before.getKey();
      last = Math.max(last, before.getValue());
      runs.remove(before.getKey());
    }
    Map.Entry<Long, Long> after = runs.ceilingEntry(from);
    while (after != null && after.getKey() <= last + 1) {
      last = Math.max(last, after.getValue());
      runs.remove(after.getKey());
      after = runs.ceilingEntry(from);
    }
    runs.put(from, last);
    if (runs.size() > MAX_RUNS) {
      Map.Entry<Long, Long> oldest = runs.pollFirstEntry();
      settled += oldest.getValue() - oldest.getKey() + 1;
      settledLowest = settledLowest < 0 ? oldest.getKey() : settledLowest;
      settledBelow = runs.firstKey();
    }
  }
}
