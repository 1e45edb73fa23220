package io.sparkfuse.detect;

import java.nio.ByteBuffer;
import org.apache.flink.table.annotation.DataTypeHint;
import org.apache.flink.table.annotation.FunctionHint;
import org.apache.flink.table.functions.TableFunction;
import org.apache.flink.types.Row;

/** {@code LATERAL TABLE(split_frames(value))}: one row for each frame of a {@link FrameBuffer}. */
@FunctionHint(output = @DataTypeHint("ROW<part BYTES>"))
public final class SplitFrames extends TableFunction<Row> {
  private static final long serialVersionUID = 1L;

  public void eval(byte[] value) {
    ByteBuffer left = ByteBuffer.wrap(value);
    while (left.hasRemaining()) {
      byte[] part = new byte[left.getInt()];
      left.get(part);
      collect(Row.of((Object) part));
    }
  }
}
