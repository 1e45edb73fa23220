package io.sparkfuse.spark.counters;

import io.sparkfuse.contracts.JobStarted;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
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

  private static final Pattern RANDOM_GROUP =
      Pattern.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}");

  private static final class Job {
    private final int[] stages;
    private final Long execution;
    private final String group;
    private final List<String> tags = new ArrayList<>();
    private final boolean streaming;
    private final String owner;
    private final Set<String> sessions = new TreeSet<>();
    private final long startedMs;

    private Job(JobStarted fact, boolean streaming, long startedMs) {
      this.startedMs = startedMs;
      stages = fact.getStageIdsList().stream().mapToInt(Integer::intValue).sorted().toArray();
      execution = fact.hasSqlExecutionId() ? fact.getSqlExecutionId() : null;
      group = cut(fact.getJobGroup());
      fact.getJobTagsList().stream().limit(MAX_TAGS).forEach(tag -> tags.add(cut(tag)));
      this.streaming = streaming;
      for (String tag : tags) {
        Matcher found = SESSION.matcher(tag);
        if (found.matches()) {
          boolean connect = found.group(3) == null;
          sessions.add(connect ? found.group(1) + " " + found.group(2) : found.group(3));
        }
      }
      owner = sessions.isEmpty() ? "group " + group : String.join(" ", sessions);
    }

    /**
     * Returns whether this job and another one certainly have different owners: different sessions
     * or different job groups. A job without a group shows no owner, and neither does a random
     * UUID, in which Spark itself starts parts of a query.
     */
    private boolean hasOtherOwnerThan(Job other) {
      boolean sameQuery = execution != null && execution.equals(other.execution);
      return !sameQuery
          && (isOutside(other.sessions)
              || (namesGroup() && other.namesGroup() && !group.equals(other.group)));
    }

    private boolean isOutside(Set<String> others) {
      return !sessions.isEmpty() && !others.isEmpty() && Collections.disjoint(sessions, others);
    }

    private boolean namesGroup() {
      return !group.isEmpty() && !RANDOM_GROUP.matcher(group).matches();
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
  private final Set<String> firstSessions = new TreeSet<>();
  private boolean hadSeveralOwners;

  /** Adds a job. Returns how many of the oldest jobs were forgotten. */
  int add(JobStarted fact, boolean streaming, long nowMs) {
    Job job = new Job(fact, streaming, nowMs);
    remove(fact.getJobId());
    noteOwner(job);
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

  /**
   * Returns whether this driver ever had jobs of several owners: jobs of different sessions at any
   * time, or jobs of different job groups at the same time. A job that sets one job group after
   * another has a single owner.
   */
  boolean hadSeveralOwners() {
    return hadSeveralOwners;
  }

  private void noteOwner(Job job) {
    if (hadSeveralOwners
        || job.streaming) { // a streaming query has a session and a group of its own
      return;
    }
    hadSeveralOwners =
        job.isOutside(firstSessions)
            || jobs.values().stream()
                .anyMatch(other -> !other.streaming && job.hasOtherOwnerThan(other));
    if (firstSessions.isEmpty()) {
      firstSessions.addAll(job.sessions);
    }
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
