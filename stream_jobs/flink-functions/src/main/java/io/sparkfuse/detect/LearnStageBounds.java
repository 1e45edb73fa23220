package io.sparkfuse.detect;

import static org.apache.flink.table.annotation.ArgumentTrait.SET_SEMANTIC_TABLE;

import java.nio.ByteBuffer;
import org.apache.flink.table.annotation.ArgumentHint;
import org.apache.flink.table.annotation.DataTypeHint;
import org.apache.flink.table.functions.ProcessTableFunction;
import org.apache.flink.types.Row;

/**
 * {@code learn_stage_bounds(input => …, job => …)}: stores the bounds that Python published for
 * {@link LiveRowFilter}. The result has no rows.
 *
 * <p>The input has the columns app_key and payload; the payload is a {@link FrameBuffer} of bounds.
 */
@DataTypeHint("ROW<`unused` INT>")
public final class LearnStageBounds extends ProcessTableFunction<Row> {
  private static final long serialVersionUID = 1L;

  private transient StageBounds bounds;

  public void eval(
      @ArgumentHint(name = "input", value = SET_SEMANTIC_TABLE) Row row,
      @ArgumentHint(name = "job") String job) {
    if (bounds == null) {
      bounds = StageBounds.of(job);
    }
    String appKey = row.getFieldAs("app_key");
    ByteBuffer left = ByteBuffer.wrap(row.<byte[]>getFieldAs("payload"));
    while (left.hasRemaining()) {
      byte[] record = new byte[left.getInt()];
      left.get(record);
      bounds.publish(appKey, record);
    }
  }
}
