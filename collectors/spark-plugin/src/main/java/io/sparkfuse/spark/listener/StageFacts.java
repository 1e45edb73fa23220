package io.sparkfuse.spark.listener;

import io.sparkfuse.contracts.StageEnded;
import io.sparkfuse.contracts.StageStarted;
import io.sparkfuse.spark.facts.SecretScrubber;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Properties;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.apache.spark.scheduler.AccumulableInfo;
import org.apache.spark.scheduler.StageInfo;
import org.apache.spark.storage.RDDInfo;
import scala.Tuple2;

/** Copies Spark's events about stage attempts; lists are limited. */
final class StageFacts {
  static final String SQL_EXECUTION = "spark.sql.execution.id";
  private static final int MAX_PARENTS = 256;
  private static final int MAX_RDDS = 256;
  private static final int MAX_SCOPES = 64;
  private static final int MAX_SCOPE_CHARS = 200;
  private static final int MAX_ACCUMULATORS = 100_000;
  static final String OUTPUT_ROWS = "number of output rows";
  static final String RESULT_SIZE = "internal.metrics.resultSize";
  private static final Pattern CODEGEN_NUMBER = Pattern.compile("\\s*\\(\\d{1,9}\\)$");

  private StageFacts() {}

  /**
   * Returns the fact of a submitted stage attempt.
   *
   * @param firstJob the first running job that uses the stage, or null if none is known
   * @param depth the depth of the stage, or null if the start of its job was not received
   */
  static StageStarted started(
      StageInfo stage, Properties properties, Integer firstJob, Integer depth) {
    StageStarted.Builder fact =
        StageStarted.newBuilder()
            .setStageId(stage.stageId())
            .setStageAttempt(stage.attemptNumber())
            .setName(SecretScrubber.cut(stage.name()))
            .setNumTasks(stage.numTasks())
            .setResourceProfileId(stage.resourceProfileId())
            .addAllParentStageIds(parents(stage))
            .addAllScopeNames(scopes(stage));
    Object submitted = ScalaAccess.option(stage.submissionTime());
    fact.setSubmittedMs(ScalaAccess.number(submitted, System.currentTimeMillis()));
    if (firstJob != null) {
      fact.setJobId(firstJob);
    }
    if (depth != null) {
      fact.setDepth(depth);
    }
    Long execution = sqlExecution(properties);
    if (execution != null) {
      fact.setSqlExecutionId(execution);
    }
    String callSite = CallSite.of(stage.name(), stage.details());
    if (callSite != null) {
      fact.setCallSite(callSite);
    }
    return fact.build();
  }

  static StageEnded ended(StageInfo stage) {
    StageEnded.Builder fact =
        StageEnded.newBuilder()
            .setStageId(stage.stageId())
            .setStageAttempt(stage.attemptNumber())
            .setNumTasks(stage.numTasks());
    Object submitted = ScalaAccess.option(stage.submissionTime());
    if (submitted != null) {
      fact.setSubmittedMs(ScalaAccess.number(submitted, 0));
    }
    Object completed = ScalaAccess.option(stage.completionTime());
    fact.setCompletedMs(ScalaAccess.number(completed, System.currentTimeMillis()));
    Object failure = ScalaAccess.option(stage.failureReason());
    fact.setSucceeded(failure == null);
    if (failure != null) {
      fact.setFailureReason(SecretScrubber.cut(failure.toString()));
    }
    long rows = largest(OUTPUT_ROWS, stage.accumulables());
    if (rows > 0) {
      fact.setOperatorRowsMax(rows);
    }
    long resultBytes = largest(RESULT_SIZE, stage.accumulables());
    if (resultBytes > 0) {
      fact.setResultBytes(resultBytes);
    }
    return fact.build();
  }

  /** Returns the largest value of the accumulators with a name, or 0. */
  static long largest(String name, Object accumulables) {
    long most = 0;
    for (Object entry : ScalaAccess.list(accumulables, MAX_ACCUMULATORS)) {
      AccumulableInfo info = (AccumulableInfo) ((Tuple2<?, ?>) entry)._2();
      if (name.equals(ScalaAccess.option(info.name()))) {
        most = Math.max(most, ScalaAccess.number(ScalaAccess.option(info.value()), 0));
      }
    }
    return most;
  }

  /** Returns the SQL execution id in the local properties of a job or stage, or null. */
  static Long sqlExecution(Properties properties) {
    String value = properties == null ? null : properties.getProperty(SQL_EXECUTION);
    try {
      return value == null ? null : Long.valueOf(value);
    } catch (NumberFormatException foreign) { // other code has set this property
      return null;
    }
  }

  static List<Integer> parents(StageInfo stage) {
    return ScalaAccess.list(ScalaAccess.get(stage, "parentIds"), MAX_PARENTS).stream()
        .map(id -> (int) ScalaAccess.number(id, -1))
        .collect(Collectors.toList());
  }

  /**
   * Returns the distinct scopes of a stage's RDDs. A codegen scope keeps its number, which
   * identifies its node in the plan. The limit counts names without numbers, as a stage's
   * fingerprint does.
   */
  private static Set<String> scopes(StageInfo stage) {
    Set<String> names = new LinkedHashSet<>();
    Set<String> withoutNumbers = new HashSet<>();
    for (Object rdd : ScalaAccess.list(ScalaAccess.get(stage, "rddInfos"), MAX_RDDS)) {
      Object scope = ScalaAccess.option(((RDDInfo) rdd).scope());
      Object name = ScalaAccess.get(scope, "name");
      if (name != null) {
        Matcher numbered = CODEGEN_NUMBER.matcher(name.toString());
        String number = numbered.find() ? numbered.group() : "";
        String bare = name.toString().substring(0, name.toString().length() - number.length());
        String shortened = SecretScrubber.shortened(bare, MAX_SCOPE_CHARS);
        if (withoutNumbers.contains(shortened) || withoutNumbers.size() < MAX_SCOPES) {
          withoutNumbers.add(shortened);
          names.add(shortened + number);
        }
      }
    }
    return names;
  }
}
