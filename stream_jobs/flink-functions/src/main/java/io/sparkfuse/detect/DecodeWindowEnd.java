package io.sparkfuse.detect;

import com.google.protobuf.CodedInputStream;
import com.google.protobuf.WireFormat;
import io.sparkfuse.contracts.LiveRow;
import java.io.IOException;
import org.apache.flink.table.functions.ScalarFunction;

/**
 * {@code decode_window_end(value)}: the {@code window_end_ms} of an encoded LiveRow [ms since
 * epoch].
 *
 * <p>Returns 0, which does not advance the event time, if the bytes are not a LiveRow or if SQL
 * cannot represent the value.
 */
public final class DecodeWindowEnd extends ScalarFunction {
  private static final long serialVersionUID = 1L;

  /** The latest time that SQL can represent: the end of the year 9999. */
  static final long LATEST_MS = 253_402_300_799_999L;

  private static final int TAG =
      LiveRow.WINDOW_END_MS_FIELD_NUMBER << 3 | WireFormat.WIRETYPE_VARINT;

  public long eval(byte[] value) {
    try {
      long found = value == null ? 0 : find(CodedInputStream.newInstance(value));
      return found >= 0 && found <= LATEST_MS ? found : 0;
    } catch (IOException notProtobuf) {
      return 0;
    }
  }

  /** Reads all bytes, because a message that is malformed after the field is not a LiveRow. */
  private static long find(CodedInputStream in) throws IOException {
    long found = 0;
    for (int tag = in.readTag(); tag != 0; tag = in.readTag()) {
      if (tag == TAG) {
        found = in.readInt64();
      } else {
        in.skipField(tag);
      }
    }
    return found;
  }
}
