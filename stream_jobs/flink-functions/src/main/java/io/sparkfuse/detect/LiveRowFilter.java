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
 * {@code live_row_filter(input => …, job => …)}: passes the rows of one application attempt that
 * detection needs.
 *
 * <p>Counts every record as read. Passes records that are not live rows, so that the next step
 * writes them as dead letters. Drops ticks, because they only advance the time. Rows of views with
 * a {@code linger_ms} pass only if {@link LingerFilter} passes them; rows of a running stage also
 * pass unless its {@link StageBounds} show that no other rule can match. The input has the columns
 * of {@code decoded_sql} in prefilter.py.
 */
@DataTypeHint("ROW<live_row BYTES>")
public final class LiveRowFilter extends ProcessTableFunction<Row> {
  private static final long serialVersionUID = 1L;

  private transient StepMetrics metrics;
  private transient StepMetrics passed;
  private transient Counter read;
  private transient StageBounds bounds;

  @Override
  public void open(FunctionContext context) {
    metrics = new StepMetrics(context.getMetricGroup());
    passed = new StepMetrics(context.getMetricGroup());
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
          Row row,
      @ArgumentHint(name = "job") String job)
      throws Exception {
    if (bounds == null) {
      bounds = StageBounds.of(job);
    }
    read.inc();
    String kind = row.getFieldAs("kind");
    String view = row.getField("view") == null ? "" : row.getFieldAs("view");
    if (kind == null || passes(watched, row, kind, view)) { // the next step rejects rows of no kind
      passed.counter("rows_to_python_total", "view", view).inc();
      collect(Row.of((Object) row.<byte[]>getFieldAs("live_row")));
    }
  }

  private boolean passes(MapView<String, Long> watched, Row row, String kind, String view)
      throws Exception {
    metrics.counter("live_rows_total", "view", view).inc();
    metrics.windowEnded(row.<Long>getFieldAs("window_end_ms"));
    if ("tick".equals(kind)) {
      return false;
    }
    if (row.getField("linger_ms") == null) {
      noteChange(row, kind);
      return true;
    }
    return "stage".equals(kind) ? stagePasses(watched, row) : lingers(watched, row, holds(row));
  }

  private boolean stagePasses(MapView<String, Long> watched, Row row) throws Exception {
    if (!Boolean.TRUE.equals(row.getField("running"))) {
      watched.remove(row.<String>getFieldAs("subject"));
      bounds.stageEnded(row.getFieldAs("app_key"), row.getFieldAs("subject"));
      return true;
    }
    StageBounds.Answer answer = check(row);
    boolean matches = mayMatch(row) || answer == StageBounds.Answer.EXCEEDED;
    boolean lingers = lingers(watched, row, matches);
    return lingers || answer == StageBounds.Answer.UNKNOWN || isIncomplete(row);
  }

  private StageBounds.Answer check(Row row) {
    if (row.getField("row_seq") == null) {
      return StageBounds.Answer.UNKNOWN;
    }
    StageBounds.Measures measures =
        new StageBounds.Measures(
            number(row, "row_epoch_ms"),
            number(row, "row_seq"),
            number(row, "window_end_ms"),
            number(row, "tasks"),
            number(row, "elapsed_ms"),
            number(row, "cpu_ms"));
    return bounds.check(
        row.getFieldAs("app_key"), row.getFieldAs("subject"), measures, number(row, "linger_ms"));
  }

  private boolean mayMatch(Row row) {
    if (!holds(row) || row.getField("row_seq") == null) {
      return holds(row);
    }
    return Boolean.TRUE.equals(row.getField("holds_without_python"))
        || !bounds.runsNoPython(
            row.getFieldAs("app_key"), row.getFieldAs("subject"), number(row, "row_epoch_ms"));
  }

  private static boolean holds(Row row) {
    return Boolean.TRUE.equals(row.getField("holds"));
  }

  private static boolean lingers(MapView<String, Long> watched, Row row, boolean matches)
      throws Exception {
    return new LingerFilter(watched)
        .passes(
            row.getFieldAs("subject"),
            matches,
            isIncomplete(row),
            number(row, "window_end_ms"),
            number(row, "linger_ms"));
  }

  /** Bounds that do not consider this row no longer hold. */
  private void noteChange(Row row, String kind) {
    String appKey = row.getFieldAs("app_key");
    String started = row.getFieldAs("started");
    if ("application_ended".equals(kind)) {
      bounds.applicationEnded(appKey);
    } else if (started != null) {
      bounds.stageChanged(appKey, started, number(row, "row_epoch_ms"), number(row, "row_seq"));
    } else if (Boolean.TRUE.equals(row.getField("changes_bounds"))) {
      bounds.applicationChanged(appKey, number(row, "row_epoch_ms"), number(row, "row_seq"));
    }
  }

  private static boolean isIncomplete(Row row) {
    return Boolean.TRUE.equals(row.getField("incomplete"));
  }

  private static long number(Row row, String column) {
    Long value = row.getFieldAs(column);
    return value == null ? 0 : value;
  }
}
