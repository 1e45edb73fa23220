package io.sparkfuse.windows;

import static org.apache.flink.table.annotation.ArgumentTrait.REQUIRE_ON_TIME;
import static org.apache.flink.table.annotation.ArgumentTrait.SET_SEMANTIC_TABLE;

import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import io.sparkfuse.contracts.LiveRow;
import io.sparkfuse.windows.wire.ApplicationState;
import io.sparkfuse.windows.wire.LaneNumbers;
import io.sparkfuse.windows.wire.LatestFacts;
import io.sparkfuse.windows.wire.StageNews;
import io.sparkfuse.windows.wire.WaitingRow;
import org.apache.flink.table.annotation.ArgumentHint;
import org.apache.flink.table.annotation.DataTypeHint;
import org.apache.flink.table.annotation.StateHint;
import org.apache.flink.table.api.dataview.MapView;
import org.apache.flink.table.functions.ProcessTableFunction;
import org.apache.flink.types.Row;

/**
 * Collects all that a window says of one application and, at the window's end, sends it as encoded
 * LiveRows.
 *
 * <p>Rows wait in state until the watermark has passed the window's end: by then every partial of
 * the window is there, so what is sent depends on the facts alone. A window in which nothing came
 * of the application has a row too, as long as {@link ApplicationClock} tells of it.
 */
@DataTypeHint("ROW<live_row BYTES>")
public final class ApplicationFold extends ProcessTableFunction<Row> {
  private static final long serialVersionUID = 1L;
  private static final String FORGET = "forget";

  /** An encoded ApplicationState and the envelope of its rows, an encoded LiveRow. */
  public static final class Memory {
    public byte[] state = new byte[0];
    public byte[] envelope = new byte[0];
  }

  public void eval(
      Context context,
      @StateHint(ttl = "7 d") Memory memory,
      @StateHint(ttl = "7 d") MapView<Long, Integer> waitingCounts,
      @StateHint(ttl = "7 d") MapView<Long, byte[]> waiting,
      @ArgumentHint(
              name = "input",
              value = {SET_SEMANTIC_TABLE, REQUIRE_ON_TIME})
          Row row,
      @ArgumentHint(name = "window_ms") Long windowMs)
      throws Exception {
    TimeContext<Long> time = context.timeContext(Long.class);
    long windowEndMs = Math.floorDiv(time.time(), windowMs) * windowMs + windowMs;
    Integer before = waitingCounts.get(windowEndMs);
    int place = before == null ? 0 : before;
    waiting.put(place(windowEndMs, place), waitingRow(row, windowMs).toByteArray());
    waitingCounts.put(windowEndMs, place + 1);
    if (place == 0) {
      time.registerOnTime(windowEndMs - 1);
    }
    if (memory.envelope.length == 0) {
      memory.envelope = Envelopes.of(row).toByteArray();
    }
  }

  public void onTimer(
      OnTimerContext context,
      Memory memory,
      MapView<Long, Integer> waitingCounts,
      MapView<Long, byte[]> waiting)
      throws Exception {
    TimeContext<Long> time = context.timeContext(Long.class);
    if (FORGET.equals(context.currentTimer())) {
      ApplicationState saved = ApplicationState.parseFrom(memory.state);
      memory.state = Application.forgotten(saved).toByteArray();
      return;
    }
    long windowEndMs = time.time() + 1;
    Integer count = waitingCounts.get(windowEndMs);
    if (count == null) {
      return;
    }
    Application application =
        Application.restore(ApplicationState.parseFrom(memory.state), windowEndMs);
    ApplicationRows rows =
        new ApplicationRows(application, LiveRow.parseFrom(memory.envelope), windowEndMs);
    for (int place = 0; place < count; place++) {
      long key = place(windowEndMs, place);
      rows.add(WaitingRow.parseFrom(waiting.get(key)));
      waiting.remove(key);
    }
    waitingCounts.remove(windowEndMs);
    for (LiveRow row : rows.build()) {
      collect(Row.of((Object) row.toByteArray()));
    }
    Tally.windowSent(windowEndMs);
    memory.state = application.save().toByteArray();
    if (application.forgetAtMs() > 0) {
      time.registerOnTime(FORGET, application.forgetAtMs());
    }
  }

  /**
   * One key for each waiting row: times leave room for a million rows of a window until the year
   * 2250.
   */
  private static long place(long windowEndMs, int place) {
    return (windowEndMs << 20) | place;
  }

  private static WaitingRow waitingRow(Row row, long windowMs)
      throws InvalidProtocolBufferException {
    WaitingRow.Builder waiting = WaitingRow.newBuilder().setWindowMs(windowMs);
    if (Boolean.TRUE.equals(row.getField("quiet"))) {
      waiting.setQuiet(true);
    }
    byte[] fact = row.getFieldAs("fact");
    byte[] news = row.getFieldAs("news");
    byte[] lanes = row.getFieldAs("lanes");
    byte[] samples = row.getFieldAs("samples");
    byte[] pauses = row.getFieldAs("pauses");
    byte[] health = row.getFieldAs("health");
    if (fact != null) {
      waiting.setFact(ByteString.copyFrom(fact));
    }
    if (news != null) {
      waiting.setStage(StageNews.parseFrom(news));
    }
    if (lanes != null) {
      waiting.setLanes(LaneNumbers.parseFrom(lanes));
    }
    if (samples != null) {
      waiting.setSamples(LatestFacts.parseFrom(samples));
    }
    if (pauses != null) {
      waiting.setPauses(LatestFacts.parseFrom(pauses));
    }
    if (health != null) {
      waiting.setHealth(LatestFacts.parseFrom(health));
    }
    return waiting.build();
  }
}
