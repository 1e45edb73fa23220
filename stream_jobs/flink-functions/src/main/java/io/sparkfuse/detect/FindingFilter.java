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
 * {@code finding_filter(input => …)}: passes the rows of one run that can start, continue or
 * resolve a finding.
 *
 * <p>Passes rows on which a rule matches, later rows of the same subjects ({@link LingerFilter}),
 * and the end of the application. While a subject of the run is in its linger time (the time after
 * its last match), also passes ends of stages and executors. The input has the columns run_key,
 * payload, severities, kind, subject, ends, incomplete, window_end_ms and linger_ms. The output is
 * a {@link FrameBuffer} of the severities and the payload.
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
    boolean matches = severities != null && !severities.isEmpty();
    if (passes(new LingerFilter(watched), row, matches)) {
      FrameBuffer frames = new FrameBuffer();
      frames.add((matches ? severities : "").getBytes(StandardCharsets.UTF_8));
      frames.add(row.getFieldAs("payload"));
      collect(Row.of((Object) frames.bytes()));
    }
  }

  private static boolean passes(LingerFilter filter, Row row, boolean matches) throws Exception {
    if ("application_ended".equals(row.getField("kind"))) {
      return true;
    }
    String subject = row.getFieldAs("subject");
    Long atMs = row.getFieldAs("window_end_ms");
    Long lingerMs = row.getFieldAs("linger_ms");
    boolean lingers =
        subject != null
            && atMs != null
            && filter.passes(
                subject,
                matches,
                Boolean.TRUE.equals(row.getField("incomplete")),
                atMs,
                lingerMs == null ? 0 : lingerMs);
    return lingers || (Boolean.TRUE.equals(row.getField("ends")) && filter.hasMatches());
  }
}
