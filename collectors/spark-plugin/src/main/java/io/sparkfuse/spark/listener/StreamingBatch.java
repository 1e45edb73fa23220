package io.sparkfuse.spark.listener;

import io.sparkfuse.contracts.Fact;
import io.sparkfuse.contracts.StreamingProgress;
import io.sparkfuse.spark.facts.SecretScrubber;
import java.util.Map;
import java.util.OptionalLong;

/**
 * Copies the progress of one batch of a streaming query, summed over its sources and state
 * operators.
 */
final class StreamingBatch {
  private static final int MAX_SOURCES = 64;
  private static final int MAX_SOURCE_CHARS = 512;

  private StreamingBatch() {}

  /** Returns the fact of a StreamingQueryProgress. */
  static Fact.Builder of(Object progress) {
    StreamingProgress.Builder fact = begun(progress);
    fact.setBatchId(ScalaAccess.number(progress, "batchId", -1))
        .setInputRows(ScalaAccess.number(progress, "numInputRows", 0));
    String name = StreamingFacts.name(progress);
    if (name != null) {
      fact.setName(name);
    }
    rates(progress, fact);
    durations(ScalaAccess.get(progress, "durationMs"), fact);
    long whole = ScalaAccess.number(progress, "batchDuration", -1);
    if (whole >= 0) {
      fact.setBatchDurationMs(whole);
    }
    watermark(ScalaAccess.get(progress, "eventTime"), fact);
    states(ScalaAccess.get(progress, "stateOperators"), fact);
    sources(ScalaAccess.get(progress, "sources"), fact);
    long endedMs = fact.getTriggeredMs() + fact.getBatchDurationMs();
    return Fact.newBuilder().setEventTimeMs(endedMs).setStreamingProgress(fact);
  }

  /**
   * Returns the fact of a query that waits for data (Spark 3.5 and later); the fact has no batch.
   */
  static Fact.Builder idle(Object event) {
    StreamingProgress.Builder fact = begun(event);
    return Fact.newBuilder().setEventTimeMs(fact.getTriggeredMs()).setStreamingProgress(fact);
  }

  private static StreamingProgress.Builder begun(Object holder) {
    long now = System.currentTimeMillis();
    return StreamingProgress.newBuilder()
        .setQueryId(String.valueOf(ScalaAccess.get(holder, "id")))
        .setRunId(String.valueOf(ScalaAccess.get(holder, "runId")))
        .setTriggeredMs(StreamingFacts.moment(ScalaAccess.text(holder, "timestamp"), now));
  }

  /**
   * Copies the rates; a rate of NaN or infinity, which Spark reports for a batch without duration,
   * is left out.
   */
  private static void rates(Object progress, StreamingProgress.Builder fact) {
    double arrived = rate(ScalaAccess.get(progress, "inputRowsPerSecond"));
    if (arrived >= 0) {
      fact.setInputRowsPerSecond(arrived);
    }
    double processed = rate(ScalaAccess.get(progress, "processedRowsPerSecond"));
    if (processed >= 0) {
      fact.setProcessedRowsPerSecond(processed);
    }
  }

  private static double rate(Object value) {
    double rate = value instanceof Number ? ((Number) value).doubleValue() : -1;
    return Double.isNaN(rate) || Double.isInfinite(rate) ? -1 : rate;
  }

  private static void durations(Object parts, StreamingProgress.Builder fact) {
    if (parts instanceof Map) {
      Map<?, ?> durations = (Map<?, ?>) parts;
      number(durations.get("triggerExecution")).ifPresent(fact::setBatchDurationMs);
      number(durations.get("addBatch")).ifPresent(fact::setAddBatchMs);
      number(durations.get("latestOffset")).ifPresent(fact::setLatestOffsetMs);
    }
  }

  private static void watermark(Object eventTime, StreamingProgress.Builder fact) {
    if (eventTime instanceof Map) {
      Object watermark = ((Map<?, ?>) eventTime).get("watermark");
      long moment = StreamingFacts.moment(watermark == null ? null : watermark.toString(), -1);
      if (moment >= 0) {
        fact.setWatermarkMs(moment);
      }
      Object newest = ((Map<?, ?>) eventTime).get("max");
      long newestMs = StreamingFacts.moment(newest == null ? null : newest.toString(), -1);
      if (newestMs >= 0) {
        fact.setEventTimeMaxMs(newestMs);
      }
    }
  }

  private static void states(Object operators, StreamingProgress.Builder fact) {
    if (!(operators instanceof Object[]) || ((Object[]) operators).length == 0) {
      return;
    }
    for (Object state : (Object[]) operators) {
      fact.setStateRows(fact.getStateRows() + ScalaAccess.number(state, "numRowsTotal", 0))
          .setStateMemoryBytes(
              fact.getStateMemoryBytes() + ScalaAccess.number(state, "memoryUsedBytes", 0))
          .setDroppedByWatermarkRows(
              fact.getDroppedByWatermarkRows()
                  + ScalaAccess.number(state, "numRowsDroppedByWatermark", 0));
    }
  }

  private static void sources(Object sources, StreamingProgress.Builder fact) {
    Object[] all = sources instanceof Object[] ? (Object[]) sources : new Object[0];
    for (Object source : all) {
      if (fact.getSourcesCount() < MAX_SOURCES) {
        String name = String.valueOf(ScalaAccess.text(source, "description"));
        fact.addSources(SecretScrubber.shortened(name, MAX_SOURCE_CHARS));
      }
      Object metrics = ScalaAccess.get(source, "metrics");
      if (metrics instanceof Map) {
        lag((Map<?, ?>) metrics, fact);
      }
    }
  }

  /**
   * Adds the lag of a source: for Kafka, the number of offsets by which the slowest partition is
   * behind and the estimated bytes of all partitions; for Delta, the outstanding bytes.
   */
  private static void lag(Map<?, ?> metrics, StreamingProgress.Builder fact) {
    number(metrics.get("maxOffsetsBehindLatest"))
        .ifPresent(behind -> fact.setSourceLagRecords(fact.getSourceLagRecords() + behind));
    OptionalLong bytes = number(metrics.get("estimatedTotalBytesBehindLatest"));
    if (!bytes.isPresent()) {
      bytes = number(metrics.get("numBytesOutstanding"));
    }
    bytes.ifPresent(behind -> fact.setSourceLagBytes(fact.getSourceLagBytes() + behind));
  }

  /** Returns the number in a value that is a number or a string ("12", "12.0"). */
  private static OptionalLong number(Object value) {
    try {
      if (value instanceof Number) {
        return OptionalLong.of(((Number) value).longValue());
      }
      double number = value == null ? Double.NaN : Double.parseDouble(value.toString());
      return Double.isNaN(number) ? OptionalLong.empty() : OptionalLong.of((long) number);
    } catch (NumberFormatException foreign) {
      return OptionalLong.empty();
    }
  }
}
