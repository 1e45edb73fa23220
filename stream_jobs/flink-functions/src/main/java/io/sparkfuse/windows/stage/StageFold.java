package io.sparkfuse.windows.stage;

import static org.apache.flink.table.annotation.ArgumentTrait.REQUIRE_ON_TIME;
import static org.apache.flink.table.annotation.ArgumentTrait.SET_SEMANTIC_TABLE;

import com.google.protobuf.InvalidProtocolBufferException;
import io.sparkfuse.windows.wire.StageState;
import org.apache.flink.table.annotation.ArgumentHint;
import org.apache.flink.table.annotation.DataTypeHint;
import org.apache.flink.table.annotation.StateHint;
import org.apache.flink.table.functions.ProcessTableFunction;
import org.apache.flink.types.Row;

/**
 * Adds each window of a stage attempt to the state of the stage, and emits the state as an encoded
 * StageUpdate.
 *
 * <p>Keeps a stage for {@link Stage#GRACE_MS} after its end. A stage without facts is removed when
 * the state's TTL expires.
 */
@DataTypeHint("ROW<stage_update BYTES>")
public final class StageFold extends ProcessTableFunction<Row> {
  private static final long serialVersionUID = 1L;
  private static final String FORGET = "forget";

  /** An encoded StageState, empty before the first window. */
  public static final class SavedState {
    public byte[] state = new byte[0];
  }

  public void eval(
      Context context,
      @StateHint(ttl = "2 d") SavedState saved,
      @ArgumentHint(
              name = "input",
              value = {SET_SEMANTIC_TABLE, REQUIRE_ON_TIME})
          Row partial)
      throws InvalidProtocolBufferException {
    TimeContext<Long> time = context.timeContext(Long.class);
    // The timestamp of a window's row is the last millisecond of the window.
    long windowEndMs = time.time() + 1;
    Stage stage = Stage.restore(StageState.parseFrom(saved.state), windowEndMs);
    byte[] update = stage.fold(StageWindow.of(partial, windowEndMs)).toByteArray();
    saved.state = stage.save().toByteArray();
    if (stage.forgetAtMs() > 0) {
      time.registerOnTime(FORGET, stage.forgetAtMs());
    } else {
      time.clearTimer(FORGET);
    }
    collect(Row.of((Object) update));
  }

  public void onTimer(OnTimerContext context, SavedState saved) {
    context.clearAll();
  }
}
