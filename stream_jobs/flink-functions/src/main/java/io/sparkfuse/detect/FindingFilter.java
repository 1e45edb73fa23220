package io.sparkfuse.detect;

import static org.apache.flink.table.annotation.ArgumentTrait.REQUIRE_ON_TIME;
import static org.apache.flink.table.annotation.ArgumentTrait.SET_SEMANTIC_TABLE;

import java.nio.charset.StandardCharsets;
import org.apache.flink.table.annotation.ArgumentHint;
import org.apache.flink.table.annotation.DataTypeHint;
import org.apache.flink.table.annotation.StateHint;
import org.apache.flink.table.api.dataview.MapView;
import org.apache.flink.table.functions.ProcessTableFunction;
import org.apache.flink.types.Row;

/**
 * {@code finding_filter(input => …)}: the rows of one run that can begin, go on with or end a
 * finding.
 *
 * <p>Those are rows on which a rule holds, rows of the same things for a while after ({@link
 * LingerFilter}), the ends of stages and executors while anything of the run is watched, and the
 * end of the application. Expects the columns run_key, payload, severities, kind, unit, ends,
 * window_end_ms and linger_ms. What it tells are {@link FrameBuffer}: the severities, and the
 * payload.
 */
@DataTypeHint("ROW<watched BYTES>")
public final class FindingFilter extends ProcessTableFunction<Row> {
  private static final long serialVersionUID = 1L;

  public void eval(
      Context context,
      @StateHint(ttl = "7 d") MapView<String, Long> watched,
      @ArgumentHint(
              name = "input",
              value = {SET_SEMANTIC_TABLE, REQUIRE_ON_TIME})
          Row row)
      throws Exception {
    String severities = row.getFieldAs("severities");
    boolean holds = severities != null && !severities.isEmpty();
    if (passes(new LingerFilter(watched), row, holds)) {
      FrameBuffer told = new FrameBuffer();
      told.add((holds ? severities : "").getBytes(StandardCharsets.UTF_8));
      told.add(row.getFieldAs("payload"));
      collect(Row.of((Object) told.bytes()));
    }
  }

  private static boolean passes(LingerFilter attention, Row row, boolean holds) throws Exception {
    if ("application_ended".equals(row.getField("kind"))) {
      return true;
    }
    String unit = row.getFieldAs("unit");
    Long atMs = row.getFieldAs("window_end_ms");
    Long lingerMs = row.getFieldAs("linger_ms");
    boolean seen =
        unit != null
            && atMs != null
            && attention.passes(unit, holds, atMs, lingerMs == null ? 0 : lingerMs);
    return seen || (Boolean.TRUE.equals(row.getField("ends")) && attention.isHeld());
  }
}
