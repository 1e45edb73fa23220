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
 * Passes on the windows of the applications of one partition, and adds a quiet one for each
 * application of which nothing came in a window that had a tick.
 *
 * <p>A window without a tick is one in which broker or job were away: nobody could be heard, so
 * nobody was silent. What is said depends on facts and ticks alone, so a replay says the same.
 *
 * <p>Bounded: an application that said nothing for {@link ActiveWindows#SILENT_MS} is told no more,
 * and neither is one that ended and said nothing for {@link Application#GRACE_MS}.
 */
@DataTypeHint(
    "ROW<cluster STRING, tenant STRING, app_id STRING, app_attempt INT, app_start_ms BIGINT,"
        + " quiet BOOLEAN, lanes BYTES, samples BYTES, pauses BYTES, health BYTES>")
public final class ApplicationClock extends ProcessTableFunction<Row> {
  private static final long serialVersionUID = 1L;

  public void eval(
      Context context,
      @StateHint(ttl = "7 d") MapView<String, byte[]> watched,
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
      // A tick that comes behind its window cannot open it again.
      if (watermarkMs == null || watermarkMs < windowEndMs - 1) {
        time.registerOnTime(windowEndMs - 1);
      }
      return;
    }
    LiveRow envelope = Envelopes.of(row);
    String key = Envelopes.key(envelope);
    ActiveWindows watch = ActiveWindows.restore(watched.get(key), envelope);
    if (Boolean.TRUE.equals(row.getField("ended"))) {
      watch.end(windowEndMs);
    } else {
      watch.hear(windowEndMs, watermarkMs);
      collect(
          told(
              envelope,
              false,
              row.getFieldAs("lanes"),
              row.getFieldAs("samples"),
              row.getFieldAs("pauses"),
              row.getFieldAs("health")));
    }
    watched.put(key, watch.save());
  }

  public void onTimer(OnTimerContext context, MapView<String, byte[]> watched) throws Exception {
    long windowEndMs = context.timeContext(Long.class).time() + 1;
    List<String> forgotten = new ArrayList<>();
    for (Map.Entry<String, byte[]> entry : watched.entries()) {
      ActiveWindows watch = ActiveWindows.restore(entry.getValue(), null);
      if (watch.isOver(windowEndMs)) {
        forgotten.add(entry.getKey());
      } else if (watch.isQuiet(windowEndMs)) {
        collect(told(watch.envelope(), true, null, null, null, null));
      }
    }
    for (String key : forgotten) {
      ActiveWindows rest = ActiveWindows.restore(watched.get(key), null).after(windowEndMs);
      if (rest == null) {
        watched.remove(key);
      } else {
        watched.put(key, rest.save());
      }
    }
  }

  private static Row told(
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
