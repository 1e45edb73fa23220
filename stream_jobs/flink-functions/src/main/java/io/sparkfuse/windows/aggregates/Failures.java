package io.sparkfuse.windows.aggregates;

import com.google.protobuf.ByteString;
import io.sparkfuse.contracts.FailureLimits;
import io.sparkfuse.contracts.TaskEnded;
import io.sparkfuse.windows.wire.FailedTasks;
import io.sparkfuse.windows.wire.FailuresOfClass;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * Failed task attempts, grouped by failure class.
 *
 * <p>If there are too many classes, hosts or tasks, the first ones by name or index are kept. A
 * dropped class, host or task is never kept later, so every kept class, host or task is counted
 * from its first attempt, in any order of arrival and of merging.
 *
 * <p>The kernel keeps the same classes offline; the limits and cases are in
 * contracts/shared/failure_limits.yaml.
 */
public final class Failures {
  static final int MAX_CLASSES = FailureLimits.MOST_CLASSES;
  static final int MAX_HOSTS = FailureLimits.MOST_HOSTS;
  static final int MAX_TASKS = FailureLimits.MOST_TASKS;
  static final int MAX_TEXT_BYTES = 2_048;

  /** Spark's name for a failure without a class. */
  private static final String UNKNOWN = "UnknownReason";

  private final TreeMap<String, OfClass> classes = new TreeMap<>();

  /**
   * Failures of one class: the number of failures, the last failure, and the hosts and tasks that
   * had failures.
   */
  private static final class OfClass {
    private long count;
    private FailuresOfClass last = FailuresOfClass.getDefaultInstance();
    private final TreeSet<String> hosts = new TreeSet<>();
    private final TreeMap<Integer, Long> tasks = new TreeMap<>();

    void add(FailuresOfClass more) {
      count += more.getFailedTasks();
      last = later(last, more);
      hosts.addAll(more.getHostsList());
      while (hosts.size() > MAX_HOSTS) {
        hosts.pollLast();
      }
      for (int place = 0; place < more.getTaskIndexesCount(); place++) {
        tasks.merge(more.getTaskIndexes(place), more.getTaskFailures(place), Long::sum);
      }
      while (tasks.size() > MAX_TASKS) {
        tasks.pollLastEntry();
      }
    }

    FailuresOfClass save() {
      return last.toBuilder()
          .setFailedTasks(count)
          .clearHosts()
          .addAllHosts(hosts)
          .clearTaskIndexes()
          .addAllTaskIndexes(tasks.keySet())
          .clearTaskFailures()
          .addAllTaskFailures(tasks.values())
          .build();
    }
  }

  public static Failures restore(FailedTasks saved) {
    Failures failures = new Failures();
    failures.add(saved);
    return failures;
  }

  public FailedTasks save() {
    FailedTasks.Builder saved = FailedTasks.newBuilder();
    classes.values().forEach(one -> saved.addClasses(one.save()));
    return saved.build();
  }

  public boolean isEmpty() {
    return classes.isEmpty();
  }

  public void add(FailedTasks others) {
    others.getClassesList().forEach(this::add);
  }

  public void add(TaskEnded failed) {
    boolean fetch = failed.hasFetchFailedExecutorId() || failed.hasFetchFailedHost();
    FailuresOfClass.Builder one =
        FailuresOfClass.newBuilder()
            .setFailureClass(failed.hasFailureClass() ? capped(failed.getFailureClass()) : UNKNOWN)
            .setFailedTasks(1)
            .setFinishedMs(failed.getFinishedMs())
            .setTaskIndex(failed.getTaskIndex())
            .addTaskIndexes(failed.getTaskIndex())
            .addTaskFailures(1);
    if (failed.hasFailureReason()) {
      one.setFailureReason(capped(failed.getFailureReason()));
    }
    if (failed.hasHost()) {
      one.addHosts(capped(failed.getHost()));
    }
    if (fetch ? failed.hasFetchFailedExecutorId() : failed.hasExecutorId()) {
      one.setExecutorId(capped(fetch ? failed.getFetchFailedExecutorId() : failed.getExecutorId()));
    }
    if (fetch ? failed.hasFetchFailedHost() : failed.hasHost()) {
      one.setHost(capped(fetch ? failed.getFetchFailedHost() : failed.getHost()));
    }
    add(one.build());
  }

  private void add(FailuresOfClass more) {
    classes.computeIfAbsent(more.getFailureClass(), name -> new OfClass()).add(more);
    if (classes.size() > MAX_CLASSES) {
      classes.pollLastEntry();
    }
  }

  /**
   * Returns the later failure; if the times are equal, other fields decide, so that the result is
   * always the same.
   */
  private static FailuresOfClass later(FailuresOfClass one, FailuresOfClass other) {
    if (!one.hasFailureClass()) {
      return other;
    }
    int order = Long.compare(one.getFinishedMs(), other.getFinishedMs());
    order = order != 0 ? order : Integer.compare(one.getTaskIndex(), other.getTaskIndex());
    order = order != 0 ? order : one.getExecutorId().compareTo(other.getExecutorId());
    order = order != 0 ? order : one.getHost().compareTo(other.getHost());
    order = order != 0 ? order : one.getFailureReason().compareTo(other.getFailureReason());
    return order >= 0 ? one : other;
  }

  /** Cuts a text at {@link #MAX_TEXT_BYTES}, between two characters. */
  public static String capped(String text) {
    if (text.length() <= MAX_TEXT_BYTES / 3) {
      return text;
    }
    ByteString bytes = ByteString.copyFromUtf8(text);
    if (bytes.size() <= MAX_TEXT_BYTES) {
      return text;
    }
    int end = MAX_TEXT_BYTES;
    while ((bytes.byteAt(end) & 0xC0) == 0x80) {
      end--;
    }
    return bytes.substring(0, end).toStringUtf8();
  }
}
