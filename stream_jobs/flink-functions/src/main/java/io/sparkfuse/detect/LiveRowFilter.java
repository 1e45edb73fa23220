package io.sparkfuse.detect;

import static org.apache.flink.table.annotation.ArgumentTrait.REQUIRE_ON_TIME;
import static org.apache.flink.table.annotation.ArgumentTrait.SET_SEMANTIC_TABLE;

import io.sparkfuse.metrics.StepMetrics;
import org.apache.flink.metrics.Counter;
import org.apache.flink.table.annotation.ArgumentHint;
import org.apache.flink.table.annotation.DataTypeHint;
import org.apache.flink.table.annotation.StateHint;
import org.apache.flink.table.api.dataview.MapView;
import org.apache.flink.table.functions.FunctionContext;
import org.apache.flink.table.functions.ProcessTableFunction;
import org.apache.flink.types.Row;

/**
 * {@code live_row_filter(input => …)}: passes the rows of one application attempt that detection
 * needs.
 *
 * <p>Counts every record as read. Passes records that are not live rows, so that the next step
 * writes them as dead letters. Drops ticks, because they only advance the time. Rows of views with
 * a {@code linger_ms} pass only if {@link LingerFilter} passes them. The input has the columns
 * live_row, app_key, view, kind, subject, window_end_ms, holds, incomplete and linger_ms.
 */
@DataTypeHint("ROW<live_row BYTES>")
public final class LiveRowFilter extends ProcessTableFunction<Row> {
  private static final long serialVersionUID = 1L;

  private transient StepMetrics metrics;
  private transient Counter read;

  @Override
  public void open(FunctionContext context) {
    metrics = new StepMetrics(context.getMetricGroup());
    read =
        new StepMetrics(context.getMetricGroup(), "component", "detect", "topic", "live")
            .counter("records_read_total");
  }

  public void eval(
      Context context,
      @StateHint(ttl = "1 d") MapView<String, Long> watched,
      @ArgumentHint(
              name = "input",
              value = {SET_SEMANTIC_TABLE, REQUIRE_ON_TIME})
          Row row)
      throws Exception {
    String kind = row.getFieldAs("kind");
    if (kind == null) {
      read.inc(); // the next step counts it as rejected
      collect(Row.of((Object) row.<byte[]>getFieldAs("live_row")));
      return;
    }
    Long atMs = row.getFieldAs("window_end_ms");
    read.inc();
    String view = row.getFieldAs("view");
    metrics.counter("live_rows_total", "view", view == null ? "" : view).inc();
    metrics.windowEnded(atMs);
    if (!"tick".equals(kind) && passes(watched, row, atMs)) {
      collect(Row.of((Object) row.<byte[]>getFieldAs("live_row")));
    }
  }

  private static boolean passes(MapView<String, Long> watched, Row row, long atMs)
      throws Exception {
    Long lingerMs = row.getFieldAs("linger_ms");
    return lingerMs == null
        || new LingerFilter(watched)
            .passes(
                row.getFieldAs("subject"),
                Boolean.TRUE.equals(row.getField("holds")),
                Boolean.TRUE.equals(row.getField("incomplete")),
                atMs,
                lingerMs);
  }
}
