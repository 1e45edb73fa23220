package io.sparkfuse.spark.counters;

import io.sparkfuse.contracts.JobStarted;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The running jobs with their stages, queries, tags and owners. Guarded by the lock of its {@link
 * StageRegistry}.
 *
 * <p>If there are too many jobs, the oldest are forgotten.
 */
final class RunningJobs {
  private static final int MAX_TAGS = 16;
  private static final int MAX_CHARS = 256;

  /** Spark Connect adds a job tag for each operation; Spark 4 also adds one for each session. */
  private static final Pattern SESSION =
      Pattern.compile(
          "SparkConnect_OperationTag_User_(.*)_Session_(.*)_Operation_.*"
              + "|spark-session-([0-9a-fA-F-]{36}).*");

  private static final class Job {
    private final int[] stages;
    private final Long execution;
    private final String group;
    private final List<String> tags = new ArrayList<>();
    private final boolean streaming;
    private final String owner;
    private final long startedMs;

    private Job(JobStarted fact, boolean streaming, long startedMs) {
      this.startedMs = startedMs;
      stages = fact.getStageIdsList().stream().mapToInt(Integer::intValue).sorted().toArray();
      execution = fact.hasSqlExecutionId() ? fact.getSqlExecutionId() : null;
      group = cut(fact.getJobGroup());
      fact.getJobTagsList().stream().limit(MAX_TAGS).forEach(tag -> tags.add(cut(tag)));
      this.streaming = streaming;
      StringBuilder text = new StringBuilder();
      for (String tag : tags) {
        Matcher found = SESSION.matcher(tag);
        if (found.matches()) {
          String session = found.group(3) == null ? found.group(2) : found.group(3);
          text.append(found.group(1)).append(' ').append(session).append(' ');
        }
      }
      owner = text.length() > 0 ? text.toString() : "group " + group;
    }

    private boolean uses(int stageId) {
      return Arrays.binarySearch(stages, stageId) >= 0;
    }

    private static String cut(String text) {
      return text.length() > MAX_CHARS ? text.substring(0, MAX_CHARS) : text;
    }
  }

  private final TreeMap<Integer, Job> jobs = new TreeMap<>();
  private int stagesOfAllJobs;

  /** Adds a job. Returns how many of the oldest jobs were forgotten. */
  int add(JobStarted fact, boolean streaming, long nowMs) {
    Job job = new Job(fact, streaming, nowMs);
    remove(fact.getJobId());
    jobs.put(fact.getJobId(), job);
    stagesOfAllJobs += job.stages.length;
    int forgotten = 0;
    while (jobs.size() > StageRegistry.MAX_JOBS
        || stagesOfAllJobs > StageRegistry.MAX_STAGES_OF_JOBS) {
      remove(jobs.firstKey());
      forgotten++;
    }
    return forgotten;
  }

  void remove(int jobId) {
    Job job = jobs.remove(jobId);
    stagesOfAllJobs -= job == null ? 0 : job.stages.length;
  }

  List<Integer> ids() {
    return new ArrayList<>(jobs.keySet());
  }

  List<Integer> ofStage(int stageId) {
    return where(job -> job.uses(stageId));
  }

  List<Integer> ofExecution(long executionId) {
    return where(job -> job.execution != null && job.execution == executionId);
  }

  /**
   * Returns the start time of the oldest of the given running jobs; {@code otherwise} if none of
   * them is running.
   */
  long oldestStart(Set<Integer> some, long otherwise) {
    return jobs.entrySet().stream()
        .filter(each -> some.contains(each.getKey()))
        .mapToLong(each -> each.getValue().startedMs)
        .min()
        .orElse(otherwise);
  }

  /** Returns whether any of the jobs uses a stage. */
  boolean use(Set<Integer> some, int stageId) {
    return ofStage(stageId).stream().anyMatch(some::contains);
  }

  List<Integer> ofTag(String tag) {
    return where(job -> job.group.equals(tag) || job.tags.contains(tag));
  }

  /** Returns whether any of the jobs is a micro-batch of a streaming query. */
  boolean streams(Set<Integer> some) {
    return jobs.entrySet().stream()
        .anyMatch(each -> some.contains(each.getKey()) && each.getValue().streaming);
  }

  /** Returns the job group (for a streaming query, its run id), or an empty string. */
  String group(int jobId) {
    Job job = jobs.get(jobId);
    return job == null ? "" : job.group;
  }

  /**
   * Returns the owners of the given jobs: the user and session of a job or, without a session, its
   * job group. All jobs of one SQL execution count as one owner's, because Spark runs broadcasts in
   * job groups of their own.
   */
  Set<String> owners(Set<Integer> some) {
    Set<String> owners = new TreeSet<>();
    Map<Long, String> ofExecutions = new HashMap<>();
    jobs.forEach(
        (id, job) -> {
          if (some.contains(id)) {
            String first =
                job.execution == null
                    ? job.owner
                    : ofExecutions.computeIfAbsent(job.execution, any -> job.owner);
            owners.add(first);
          }
        });
    return owners;
  }

  /** Returns the stages that only the given jobs use. */
  Set<Integer> stagesOnlyOf(Set<Integer> some) {
    Set<Integer> own = new HashSet<>();
    Set<Integer> others = new HashSet<>();
    jobs.forEach(
        (id, job) -> {
          for (int stage : job.stages) {
            (some.contains(id) ? own : others).add(stage);
          }
        });
    own.removeAll(others);
    return own;
  }

  private List<Integer> where(Predicate<Job> wanted) {
    List<Integer> found = new ArrayList<>();
    jobs.forEach(
        (id, job) -> {
          if (wanted.test(job)) {
            found.add(id);
          }
        });
    return found;
  }
}
