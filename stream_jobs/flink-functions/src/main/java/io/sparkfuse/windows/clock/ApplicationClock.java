package io.sparkfuse.windows.clock;

import static org.apache.flink.table.annotation.ArgumentTrait.REQUIRE_ON_TIME;
import static org.apache.flink.table.annotation.ArgumentTrait.SET_SEMANTIC_TABLE;

import io.sparkfuse.contracts.LiveRow;
import io.sparkfuse.windows.application.Application;
import io.sparkfuse.windows.rows.Envelopes;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.flink.table.annotation.ArgumentHint;
import org.apache.flink.table.annotation.DataTypeHint;
import org.apache.flink.table.annotation.StateHint;
import org.apache.flink.table.api.dataview.MapView;
import org.apache.flink.table.functions.ProcessTableFunction;
import org.apache.flink.types.Row;

/**
 * Forwards the windows of the applications of one Kafka partition. If a window had a tick, adds a
 * quiet window for each application without facts in it.
 *
 * <p>In a window without a tick, the broker or the job was not available. Facts could not arrive in
 * that window, so no application counts as silent. The result depends on facts and ticks only, so a
 * replay gives the same result.
 *
 * <p>An application is no longer reported after {@link ActiveWindows#SILENT_MS} without facts, or,
 * if it ended, after {@link Application#GRACE_MS}.
 */
@DataTypeHint(
    "ROW<cluster STRING, tenant STRING, app_id STRING, app_attempt INT, app_start_ms BIGINT,"
        + " quiet BOOLEAN, lanes BYTES, samples BYTES, pauses BYTES, health BYTES>")
public final class ApplicationClock extends ProcessTableFunction<Row> {
  private static final long serialVersionUID = 1L;

  public void eval(
      Context context,
      @StateHint(ttl = "7 d") MapView<String, byte[]> applications,
      @ArgumentHint(
              name = "input",
              value = {SET_SEMANTIC_TABLE, REQUIRE_ON_TIME})
          Row row,
      @ArgumentHint(name = "window_ms") Long windowMs)
      throws Exception {
    TimeContext<Long> time = context.timeContext(Long.class);
    long windowEndMs = Math.floorDiv(time.time(), windowMs) * windowMs + windowMs;
    Long watermarkMs = time.currentWatermark();
    if (Boolean.TRUE.equals(row.getField("ticked"))) {
      // A tick that arrives after its window has closed does not reopen it.
      if (watermarkMs == null || watermarkMs < windowEndMs - 1) {
        time.registerOnTime(windowEndMs - 1);
      }
      return;
    }
    LiveRow envelope = Envelopes.of(row);
    String key = Envelopes.key(envelope);
    ActiveWindows windows = ActiveWindows.restore(applications.get(key), envelope);
    if (Boolean.TRUE.equals(row.getField("ended"))) {
      windows.end(windowEndMs);
    } else {
      windows.addActive(windowEndMs, watermarkMs);
      collect(
          row(
              envelope,
              false,
              row.getFieldAs("lanes"),
              row.getFieldAs("samples"),
              row.getFieldAs("pauses"),
              row.getFieldAs("health")));
    }
    applications.put(key, windows.save());
  }

  public void onTimer(OnTimerContext context, MapView<String, byte[]> applications)
      throws Exception {
    long windowEndMs = context.timeContext(Long.class).time() + 1;
    List<String> expired = new ArrayList<>();
    for (Map.Entry<String, byte[]> entry : applications.entries()) {
      ActiveWindows windows = ActiveWindows.restore(entry.getValue(), null);
      if (windows.isExpired(windowEndMs)) {
        expired.add(entry.getKey());
      } else if (windows.isQuiet(windowEndMs)) {
        collect(row(windows.envelope(), true, null, null, null, null));
      }
    }
    for (String key : expired) {
      ActiveWindows remaining =
          ActiveWindows.restore(applications.get(key), null).dropUntil(windowEndMs);
      if (remaining == null) {
        applications.remove(key);
      } else {
        applications.put(key, remaining.save());
      }
    }
  }

  private static Row row(
      LiveRow of, boolean quiet, byte[] lanes, byte[] samples, byte[] pauses, byte[] health) {
    return Row.of(
        of.hasCluster() ? of.getCluster() : null,
        of.hasTenant() ? of.getTenant() : null,
        of.hasAppId() ? of.getAppId() : null,
        of.hasAppAttempt() ? of.getAppAttempt() : null,
        of.hasAppStartMs() ? of.getAppStartMs() : null,
        quiet,
        lanes,
        samples,
        pauses,
        health);
  }
}
