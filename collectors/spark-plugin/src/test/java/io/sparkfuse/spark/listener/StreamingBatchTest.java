package io.sparkfuse.spark.listener;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import io.sparkfuse.contracts.Fact;
import io.sparkfuse.contracts.StreamingProgress;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;

/**
 * Tests the lag of a streaming source, with a fake source, because the sources that spark-sql
 * contains (files, rate, socket) report no lag.
 */
class StreamingBatchTest {
  /** A fake with the getters of Spark's SourceProgress. */
  public static final class Source {
    private final String description;
    private final Map<String, String> metrics;

    Source(String description, Map<String, String> metrics) {
      this.description = description;
      this.metrics = metrics;
    }

    public String description() {
      return description;
    }

    public Map<String, String> metrics() {
      return metrics;
    }
  }

  /** A fake with the getters of Spark's StreamingQueryProgress. */
  public static final class Progress {
    private final Object[] sources;

    Progress(Object... sources) {
      this.sources = sources;
    }

    public String id() {
      return "q";
    }

    public String runId() {
      return "r";
    }

    public String name() {
      return null;
    }

    public String timestamp() {
      return "2026-11-21T02:00:00.000Z";
    }

    public long batchId() {
      return 4;
    }

    public long batchDuration() {
      return 500;
    }

    public double inputRowsPerSecond() {
      return Double.NaN;
    }

    public double processedRowsPerSecond() {
      return Double.POSITIVE_INFINITY;
    }

    public Object[] sources() {
      return sources;
    }
  }

  private static Source kafka(String behind, String bytes) {
    Map<String, String> metrics = new HashMap<>();
    metrics.put("maxOffsetsBehindLatest", behind);
    metrics.put("estimatedTotalBytesBehindLatest", bytes);
    return new Source("KafkaV2[Subscribe[orders]]", metrics);
  }

  private static StreamingProgress batch(Object... sources) {
    return StreamingBatch.of(new Progress(sources)).getStreamingProgress();
  }

  @Test
  void lagOfSourcesIsSummed() {
    Source delta = new Source("Delta", Collections.singletonMap("numBytesOutstanding", "1000"));
    StreamingProgress batch = batch(kafka("120", "7.5E3"), kafka("3.0", null), delta);

    assertEquals(123, batch.getSourceLagRecords());
    assertEquals(8_500, batch.getSourceLagBytes());
    assertEquals("KafkaV2[Subscribe[orders]]", batch.getSources(0));
    assertEquals(3, batch.getSourcesCount());
  }

  @Test
  void missingValuesStayAbsent() {
    StreamingProgress batch = batch(kafka("?", null), new Source("Rate", Collections.emptyMap()));

    assertFalse(batch.hasSourceLagRecords() || batch.hasSourceLagBytes());
    assertFalse(batch.hasInputRowsPerSecond() || batch.hasProcessedRowsPerSecond(), "no rate");
    assertFalse(batch.hasWatermarkMs() || batch.hasStateRows() || batch.hasName());
  }

  @Test
  void eventTimeIsEndOfBatch() {
    Fact.Builder fact = StreamingBatch.of(new Progress());

    assertEquals(1_795_226_400_500L, fact.getEventTimeMs());
    assertEquals(1_795_226_400_000L, fact.getStreamingProgress().getTriggeredMs());
  }
}
