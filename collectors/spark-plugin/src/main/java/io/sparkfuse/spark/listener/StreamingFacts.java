package io.sparkfuse.spark.listener;

import io.sparkfuse.contracts.Fact;
import io.sparkfuse.contracts.StreamingEnded;
import io.sparkfuse.contracts.StreamingStarted;
import io.sparkfuse.spark.facts.Lane;
import io.sparkfuse.spark.facts.SecretScrubber;
import java.time.Instant;
import java.time.format.DateTimeParseException;
import org.apache.spark.scheduler.SparkListenerEvent;

/** Copies the events of structured streaming, by reflection. */
final class StreamingFacts {
  static final String PREFIX = "org.apache.spark.sql.streaming.StreamingQueryListener$";
  private static final int MAX_NAME_CHARS = 256;

  private StreamingFacts() {}

  /** Returns the lane of the fact that an event of this class produces, or null. */
  static Lane lane(String type) {
    switch (type.substring(PREFIX.length())) {
      case "QueryStartedEvent":
      case "QueryTerminatedEvent":
        return Lane.RESERVED;
      case "QueryProgressEvent":
      case "QueryIdleEvent":
        return Lane.BULK;
      default:
        return null;
    }
  }

  /** Records the fact of an event; ignores events of other classes. */
  static void copy(SparkListenerEvent event, FactRecorder recorder) {
    switch (event.getClass().getName().substring(PREFIX.length())) {
      case "QueryStartedEvent":
        recorder.record(Lane.RESERVED, started(event));
        break;
      case "QueryProgressEvent":
        recorder.record(Lane.BULK, StreamingBatch.of(ScalaAccess.get(event, "progress")));
        break;
      case "QueryIdleEvent":
        recorder.record(Lane.BULK, StreamingBatch.idle(event));
        break;
      case "QueryTerminatedEvent":
        recorder.record(Lane.RESERVED, ended(event, System.currentTimeMillis()));
        break;
      default: // an event of a later version of Spark
    }
  }

  private static Fact.Builder started(Object event) {
    long startedMs = moment(ScalaAccess.text(event, "timestamp"), System.currentTimeMillis());
    StreamingStarted.Builder fact =
        StreamingStarted.newBuilder()
            .setQueryId(String.valueOf(ScalaAccess.get(event, "id")))
            .setRunId(String.valueOf(ScalaAccess.get(event, "runId")))
            .setStartedMs(startedMs);
    String name = name(event);
    if (name != null) {
      fact.setName(name);
    }
    long interval = StreamingQueries.triggerIntervalMs(fact.getRunId());
    if (interval >= 0) {
      fact.setTriggerIntervalMs(interval);
    }
    return Fact.newBuilder().setEventTimeMs(startedMs).setStreamingStarted(fact);
  }

  /** Returns the fact of an ended query; the event has no time. */
  private static Fact.Builder ended(Object event, long nowMs) {
    StreamingEnded.Builder fact =
        StreamingEnded.newBuilder()
            .setQueryId(String.valueOf(ScalaAccess.get(event, "id")))
            .setRunId(String.valueOf(ScalaAccess.get(event, "runId")))
            .setEndedMs(nowMs);
    Object failure = ScalaAccess.option(ScalaAccess.get(event, "exception"));
    if (failure != null) {
      fact.setFailureReason(SecretScrubber.cut(failure.toString()));
    }
    return Fact.newBuilder().setEventTimeMs(nowMs).setStreamingEnded(fact);
  }

  /** Returns the name that the user gave the query, or null. */
  static String name(Object holder) {
    String name = ScalaAccess.text(holder, "name");
    return name == null ? null : SecretScrubber.shortened(name, MAX_NAME_CHARS);
  }

  /** Returns an ISO 8601 time as milliseconds since 1970, or {@code otherwise}. */
  static long moment(String iso, long otherwise) {
    try {
      return iso == null ? otherwise : Instant.parse(iso).toEpochMilli();
    } catch (DateTimeParseException foreign) {
      return otherwise;
    }
  }
}
