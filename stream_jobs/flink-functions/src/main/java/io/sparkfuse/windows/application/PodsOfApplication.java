package io.sparkfuse.windows.application;

import static org.apache.flink.table.annotation.ArgumentTrait.REQUIRE_ON_TIME;
import static org.apache.flink.table.annotation.ArgumentTrait.SET_SEMANTIC_TABLE;

import com.google.protobuf.InvalidProtocolBufferException;
import io.sparkfuse.contracts.LiveRow;
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
 * Adds tenant, attempt and start of the application to facts about its pods.
 *
 * <p>The pod watcher knows only the cluster and the application id. The other columns come from the
 * start of the application, or from an added executor if that start was lost. Until one of them
 * arrives, the last fact about each pod waits, for at most {@link #MAX_WAITING} pods. The state is
 * dropped {@link #KEPT_MS} after the last input, also if neither the plugin nor a shipper reports
 * the application.
 */
@DataTypeHint("ROW<tenant STRING, app_attempt INT, app_start_ms BIGINT, fact BYTES>")
public final class PodsOfApplication extends ProcessTableFunction<Row> {
  private static final long serialVersionUID = 1L;
  static final int MAX_WAITING = 10_000;
  private static final long KEPT_MS = 7 * 86_400_000L;
  private static final String DROP = "drop";

  /** The envelope of the application as an encoded LiveRow; empty while it is unknown. */
  public static final class SavedState {
    public byte[] envelope = new byte[0];
    public int waiting;

    /**
     * Changes with each fact, because Flink renews the TTL of a value only if the value changed.
     */
    public long usedMs;
  }

  public void eval(
      Context context,
      @StateHint(ttl = "7 d") SavedState saved,
      @StateHint(ttl = "7 d") MapView<String, byte[]> waiting,
      @ArgumentHint(
              name = "input",
              value = {SET_SEMANTIC_TABLE, REQUIRE_ON_TIME})
          Row row)
      throws Exception {
    byte[] fact = row.getFieldAs("fact");
    TimeContext<Long> time = context.timeContext(Long.class);
    saved.usedMs = time.time();
    time.registerOnTime(DROP, saved.usedMs + KEPT_MS);
    if (fact == null) {
      saved.envelope = Envelopes.of(row).toByteArray();
      emitWaiting(saved, waiting);
    } else if (saved.envelope.length > 0) {
      emit(saved, fact);
    } else {
      String executor = row.getFieldAs("executor_id");
      String key = executor == null ? "" : executor;
      boolean known = waiting.contains(key);
      if (known || saved.waiting < MAX_WAITING) {
        waiting.put(key, fact);
        saved.waiting += known ? 0 : 1;
      }
    }
  }

  public void onTimer(OnTimerContext context, SavedState saved, MapView<String, byte[]> waiting) {
    context.clearAll();
  }

  private void emitWaiting(SavedState saved, MapView<String, byte[]> waiting) throws Exception {
    if (saved.waiting == 0) {
      return;
    }
    List<Map.Entry<String, byte[]>> entries = new ArrayList<>();
    waiting.entries().forEach(entries::add);
    entries.sort(Map.Entry.comparingByKey());
    for (Map.Entry<String, byte[]> entry : entries) {
      emit(saved, entry.getValue());
    }
    waiting.clear();
    saved.waiting = 0;
  }

  private void emit(SavedState saved, byte[] fact) throws InvalidProtocolBufferException {
    LiveRow envelope = LiveRow.parseFrom(saved.envelope);
    collect(
        Row.of(
            envelope.hasTenant() ? envelope.getTenant() : null,
            envelope.hasAppAttempt() ? envelope.getAppAttempt() : null,
            envelope.hasAppStartMs() ? envelope.getAppStartMs() : null,
            fact));
  }
}
