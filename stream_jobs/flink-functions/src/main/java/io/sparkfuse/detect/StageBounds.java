package io.sparkfuse.detect;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.LongSupplier;

/**
 * The bounds of running stages that the Python steps computed, by application attempt and subject.
 *
 * <p>The bounds travel against the direction of the rows, which Flink's graph does not allow, so
 * they are in the memory of the task manager. Losing them changes no finding: without bounds,
 * {@link LiveRowFilter} passes the rows of a stage until Python has published bounds again.
 */
final class StageBounds {
  /** Bounds are computed again after this time, in case a backfill has changed the baseline. */
  static final Duration REFRESH = Duration.ofMinutes(2);

  /** Stages above this number displace those of the application that was used least recently. */
  static final int MAX_STAGES = 100_000;

  private static final int MAX_JOBS = 8;

  /** Several runs of the job in one JVM, such as two releases side by side, share nothing. */
  private static final Map<String, StageBounds> JOBS = leastRecentlyUsed();

  private final LinkedHashMap<String, Application> applications =
      new LinkedHashMap<>(16, 0.75f, true);
  private final int maxStages;
  private final LongSupplier nanoTime;
  private int stages;

  /**
   * Creates bounds without a stage.
   *
   * @param nanoTime a clock that never goes back [ns]
   */
  StageBounds(int maxStages, LongSupplier nanoTime) {
    this.maxStages = maxStages;
    this.nanoTime = nanoTime;
  }

  /** Returns the bounds of one run of the job; all functions of the run get the same object. */
  static StageBounds of(String job) {
    synchronized (JOBS) {
      return JOBS.computeIfAbsent(job, name -> new StageBounds(MAX_STAGES, System::nanoTime));
    }
  }

  /**
   * Stores bounds that Python computed, unless newer ones are known.
   *
   * @param record six numbers of eight bytes, then the subject; stage_bounds.py writes them
   */
  synchronized void publish(String appKey, byte[] record) {
    ByteBuffer from = ByteBuffer.wrap(record);
    Position at = new Position(from.getLong(), from.getLong());
    long[] limits = {from.getLong(), from.getLong(), from.getLong()};
    boolean runsPython = from.getLong() != 0;
    String subject = StandardCharsets.UTF_8.decode(from).toString();
    Stage stage = stage(appKey, subject);
    if (stage.at == null || at.compareTo(stage.at) > 0) {
      stage.at = at;
      stage.publishedNs = nanoTime.getAsLong();
      stage.limits = limits;
      stage.runsPython = runsPython;
    }
  }

  /** Bounds from rows before this row of the application no longer hold. */
  synchronized void applicationChanged(String appKey, long epochMs, long number) {
    Application application = application(appKey);
    application.changed = Position.later(application.changed, new Position(epochMs, number));
  }

  /** Bounds of the stage from rows before this row no longer hold. */
  synchronized void stageChanged(String appKey, String subject, long epochMs, long number) {
    Stage stage = stage(appKey, subject);
    stage.changed = Position.later(stage.changed, new Position(epochMs, number));
  }

  /** No later row of the stage is compared with bounds. */
  synchronized void stageEnded(String appKey, String subject) {
    Application application = applications.get(appKey);
    if (application != null && application.stages.remove(subject) != null) {
      stages--;
    }
  }

  synchronized void applicationEnded(String appKey) {
    Application application = applications.remove(appKey);
    if (application != null) {
      stages -= application.stages.size();
    }
  }

  /**
   * Returns what the bounds show about a row of a running stage.
   *
   * @param lingerMs for how long rows pass after a row that was outside the bounds
   */
  synchronized Answer check(String appKey, String subject, Measures row, long lingerMs) {
    Stage stage = stage(appKey, subject);
    if (!stage.hasBoundsFor(row, application(appKey).changed)) {
      stage.unchecked = row.largest(stage.unchecked);
      return Answer.UNKNOWN;
    }
    if (stage.unchecked != null && stage.unchecked.exceeds(stage.limits)) {
      stage.exceededMs = stage.unchecked.windowEndMs;
    }
    stage.unchecked = null;
    if (row.exceeds(stage.limits)) {
      return Answer.EXCEEDED;
    }
    boolean recent = nanoTime.getAsLong() - stage.publishedNs < REFRESH.toNanos();
    return recent && row.windowEndMs > stage.exceededMs + lingerMs ? Answer.WITHIN : Answer.UNKNOWN;
  }

  /**
   * Returns whether the stage is known to run no Python function, which does not change while it
   * runs.
   */
  synchronized boolean runsNoPython(String appKey, String subject, long epochMs) {
    Stage stage = stage(appKey, subject);
    return stage.at != null
        && stage.at.epochMs == epochMs
        && !stage.at.isBefore(stage.changed)
        && !stage.runsPython;
  }

  private Stage stage(String appKey, String subject) {
    Application application = application(appKey);
    Stage known = application.stages.get(subject);
    if (known == null) {
      known = new Stage();
      application.stages.put(subject, known);
      stages++;
      evict();
    }
    return known;
  }

  private Application application(String appKey) {
    return applications.computeIfAbsent(appKey, key -> new Application());
  }

  private void evict() {
    Iterator<Application> oldest = applications.values().iterator();
    while (applications.size() > 1 && (stages > maxStages || applications.size() > maxStages)) {
      stages -= oldest.next().stages.size();
      oldest.remove();
    }
  }

  private static <V> Map<String, V> leastRecentlyUsed() {
    return new LinkedHashMap<>(16, 0.75f, true) {
      private static final long serialVersionUID = 1L;

      @Override
      protected boolean removeEldestEntry(Map.Entry<String, V> eldest) {
        return size() > MAX_JOBS;
      }
    };
  }

  /** What the bounds show about a row. */
  enum Answer {
    /** There are no bounds that hold for the row, or they must be computed again. */
    UNKNOWN,
    /** The row is outside the bounds, so a rule on expected values may match. */
    EXCEEDED,
    /** No rule on expected values matches, and none matched recently. */
    WITHIN
  }

  /** The values of a row that are compared with bounds. */
  record Measures(
      long epochMs, long number, long windowEndMs, long tasks, long elapsedMs, long cpuMs) {
    boolean exceeds(long[] limits) {
      return tasks > limits[0] || elapsedMs > limits[1] || cpuMs > limits[2];
    }

    /** Returns this row with the larger values of both rows. */
    Measures largest(Measures other) {
      return other == null
          ? this
          : new Measures(
              epochMs,
              number,
              Math.max(windowEndMs, other.windowEndMs),
              Math.max(tasks, other.tasks),
              Math.max(elapsedMs, other.elapsedMs),
              Math.max(cpuMs, other.cpuMs));
    }
  }

  private record Position(long epochMs, long number) implements Comparable<Position> {
    @Override
    public int compareTo(Position other) {
      return epochMs == other.epochMs
          ? Long.compare(number, other.number)
          : Long.compare(epochMs, other.epochMs);
    }

    boolean isBefore(Position other) {
      return other != null && compareTo(other) < 0;
    }

    static Position later(Position known, Position other) {
      return other.isBefore(known) ? known : other;
    }
  }

  private static final class Application {
    final Map<String, Stage> stages = new HashMap<>();
    Position changed;
  }

  private static final class Stage {
    Position at;
    long publishedNs;
    long[] limits;
    boolean runsPython;
    Position changed;

    /** The largest values of the rows that passed before there were bounds for them. */
    Measures unchecked;

    /** The end of the last window of such rows, if they were outside the bounds. */
    long exceededMs = Long.MIN_VALUE / 2;

    boolean hasBoundsFor(Measures row, Position applicationChanged) {
      return at != null
          && at.epochMs == row.epochMs
          && at.number < row.number
          && !at.isBefore(changed)
          && !at.isBefore(applicationChanged);
    }
  }
}
