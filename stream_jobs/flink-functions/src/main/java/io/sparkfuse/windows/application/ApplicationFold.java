package io.sparkfuse.windows.application;

import static org.apache.flink.table.annotation.ArgumentTrait.REQUIRE_ON_TIME;
import static org.apache.flink.table.annotation.ArgumentTrait.SET_SEMANTIC_TABLE;

import com.google.protobuf.CodedOutputStream;
import io.sparkfuse.contracts.LiveRow;
import io.sparkfuse.metrics.StepMetrics;
import io.sparkfuse.windows.rows.Envelopes;
import io.sparkfuse.windows.wire.ApplicationState;
import io.sparkfuse.windows.wire.WaitingRow;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.Map;
import org.apache.flink.metrics.Counter;
import org.apache.flink.table.annotation.ArgumentHint;
import org.apache.flink.table.annotation.DataTypeHint;
import org.apache.flink.table.annotation.StateHint;
import org.apache.flink.table.api.dataview.MapView;
import org.apache.flink.table.functions.FunctionContext;
import org.apache.flink.table.functions.ProcessTableFunction;
import org.apache.flink.types.Row;

/**
 * Collects all inputs of one application in a window and, at the end of the window, emits them as
 * encoded LiveRows.
 *
 * <p>Inputs wait in state until the watermark passes the end of the window. At that time all inputs
 * of the window have arrived, so the output depends on the facts only. Quiet windows, which {@code
 * ApplicationClock} adds, have a row too.
 *
 * <p>{@code source} is the source of the job's facts; it is empty for the home cluster.
 */
@DataTypeHint("ROW<live_row BYTES>")
public final class ApplicationFold extends ProcessTableFunction<Row> {
  private static final long serialVersionUID = 1L;
  private static final String FORGET = "forget";
  private static final String DROP = "drop";

  /**
   * The number of the last row of an application is kept for this long after its grace period. [ms]
   */
  private static final long KEPT_MS = 7 * 86_400_000L;

  /** The columns that hold an encoded field of WaitingRow, with the number of that field. */
  private static final Map<String, Integer> ENCODED =
      Map.of(
          "fact", WaitingRow.FACT_FIELD_NUMBER,
          "stage_update", WaitingRow.STAGE_FIELD_NUMBER,
          "lanes", WaitingRow.LANES_FIELD_NUMBER,
          "samples", WaitingRow.SAMPLES_FIELD_NUMBER,
          "health", WaitingRow.HEALTH_FIELD_NUMBER,
          "pauses", WaitingRow.PAUSES_FIELD_NUMBER);

  /** An encoded ApplicationState, and the envelope of its rows as an encoded LiveRow. */
  public static final class SavedState {
    public byte[] state = new byte[0];
    public byte[] envelope = new byte[0];
  }

  private transient StepMetrics metrics;
  private transient Counter queriesDropped;
  private transient RunningApplications running;

  @Override
  public void open(FunctionContext context) {
    metrics = new StepMetrics(context.getMetricGroup());
    queriesDropped = metrics.counter("queries_dropped_total");
    running = new RunningApplications(context.getMetricGroup());
  }

  public void eval(
      Context context,
      @StateHint(ttl = "7 d") SavedState saved,
      @StateHint(ttl = "7 d") MapView<Long, Integer> waitingCounts,
      @StateHint(ttl = "7 d") MapView<Long, byte[]> waiting,
      @ArgumentHint(
              name = "input",
              value = {SET_SEMANTIC_TABLE, REQUIRE_ON_TIME})
          Row row,
      @ArgumentHint(name = "window_ms") Long windowMs,
      @ArgumentHint(name = "source") String source)
      throws Exception {
    TimeContext<Long> time = context.timeContext(Long.class);
    long windowEndMs = Math.floorDiv(time.time(), windowMs) * windowMs + windowMs;
    Integer before = waitingCounts.get(windowEndMs);
    int place = before == null ? 0 : before;
    waiting.put(place(windowEndMs, place), waitingRow(row, windowMs));
    waitingCounts.put(windowEndMs, place + 1);
    if (place == 0) {
      time.registerOnTime(windowEndMs - 1);
    }
    if (saved.envelope.length == 0) {
      saved.envelope = Envelopes.of(row, source).toByteArray();
    }
  }

  public void onTimer(
      OnTimerContext context,
      SavedState saved,
      MapView<Long, Integer> waitingCounts,
      MapView<Long, byte[]> waiting)
      throws Exception {
    TimeContext<Long> time = context.timeContext(Long.class);
    if (FORGET.equals(context.currentTimer())) {
      ApplicationState state = ApplicationState.parseFrom(saved.state);
      saved.state = Application.forgotten(state).toByteArray();
      time.registerOnTime(DROP, time.time() + KEPT_MS);
      return;
    }
    if (DROP.equals(context.currentTimer())) {
      if (waitingCounts.isEmpty()) { // otherwise late facts wait for the end of their window
        context.clearAll();
      }
      return;
    }
    long windowEndMs = time.time() + 1;
    Integer count = waitingCounts.get(windowEndMs);
    if (count == null) {
      return;
    }
    Application application =
        Application.restore(ApplicationState.parseFrom(saved.state), windowEndMs);
    ApplicationRows rows =
        new ApplicationRows(application, LiveRow.parseFrom(saved.envelope), windowEndMs);
    for (int place = 0; place < count; place++) {
      long key = place(windowEndMs, place);
      rows.add(WaitingRow.parseFrom(waiting.get(key)));
      waiting.remove(key);
    }
    waitingCounts.remove(windowEndMs);
    for (LiveRow row : rows.build()) {
      running.row(row);
      collect(Row.of((Object) row.toByteArray()));
    }
    queriesDropped.inc(application.queriesDropped());
    metrics.windowEnded(windowEndMs);
    saved.state = application.save().toByteArray();
    if (application.forgetAtMs() > 0) {
      time.registerOnTime(FORGET, application.forgetAtMs());
      time.clearTimer(DROP);
    }
  }

  /**
   * The key of a waiting row. The key has room for a million rows in a window, and for windows
   * until the year 2250.
   */
  private static long place(long windowEndMs, int place) {
    return (windowEndMs << 20) | place;
  }

  /** An encoded WaitingRow, built from columns that are already encoded. */
  private static byte[] waitingRow(Row row, long windowMs) throws IOException {
    ByteArrayOutputStream encoded = new ByteArrayOutputStream();
    CodedOutputStream fields = CodedOutputStream.newInstance(encoded);
    for (Map.Entry<String, Integer> column : ENCODED.entrySet()) {
      byte[] content = row.getFieldAs(column.getKey());
      if (content != null) {
        fields.writeByteArray(column.getValue(), content);
      }
    }
    if (Boolean.TRUE.equals(row.getField("quiet"))) {
      fields.writeBool(WaitingRow.QUIET_FIELD_NUMBER, true);
    }
    fields.writeInt64(WaitingRow.WINDOW_MS_FIELD_NUMBER, windowMs);
    fields.flush();
    return encoded.toByteArray();
  }
}
