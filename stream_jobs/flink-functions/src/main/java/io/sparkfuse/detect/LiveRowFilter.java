package io.sparkfuse.detect;

import static org.apache.flink.table.annotation.ArgumentTrait.REQUIRE_ON_TIME;
import static org.apache.flink.table.annotation.ArgumentTrait.SET_SEMANTIC_TABLE;

import org.apache.flink.table.annotation.ArgumentHint;
import org.apache.flink.table.annotation.DataTypeHint;
import org.apache.flink.table.annotation.StateHint;
import org.apache.flink.table.api.dataview.MapView;
import org.apache.flink.table.functions.ProcessTableFunction;
import org.apache.flink.types.Row;

/**
 * {@code live_row_filter(input => …)}: the rows that detection looks at, of one application
 * attempt.
 *
 * <p>Counts every record. What is no row is set aside, a tick has moved the time and is let go, and
 * of the views with a {@code linger_ms} only those rows pass that {@link LingerFilter} lets pass.
 * Expects the columns live_row, app_key, view, kind, unit, window_end_ms, holds and linger_ms.
 */
@DataTypeHint("ROW<live_row BYTES>")
public final class LiveRowFilter extends ProcessTableFunction<Row> {
  private static final long serialVersionUID = 1L;

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
      LiveRowCounters.refused();
      return;
    }
    Long atMs = row.getFieldAs("window_end_ms");
    LiveRowCounters.row(row.getFieldAs("view"), atMs);
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
                row.getFieldAs("unit"), Boolean.TRUE.equals(row.getField("holds")), atMs, lingerMs);
  }
}
