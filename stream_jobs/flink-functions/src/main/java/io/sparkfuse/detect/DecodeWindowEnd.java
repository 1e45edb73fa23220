package io.sparkfuse.detect;

import com.google.protobuf.CodedInputStream;
import com.google.protobuf.WireFormat;
import io.sparkfuse.contracts.LiveRow;
import java.io.IOException;
import org.apache.flink.table.functions.ScalarFunction;

/**
 * {@code decode_window_end(value, source)}: the {@code window_end_ms} of an encoded LiveRow of this
 * source [ms since epoch]. The source of a row of the home cluster is empty.
 *
 * <p>Returns {@link #OTHER_SOURCE} for a row of another source, and 0 if the bytes are not a
 * LiveRow or if SQL cannot represent the value. Neither advances the event time. Bytes that are not
 * a LiveRow belong to the home cluster.
 */
public final class DecodeWindowEnd extends ScalarFunction {
  private static final long serialVersionUID = 1L;

  /** Marks a row of another source. */
  static final long OTHER_SOURCE = -1;

  /** The latest time that SQL can represent: the end of the year 9999. */
  static final long LATEST_MS = 253_402_300_799_999L;

  private static final int END_TAG =
      LiveRow.WINDOW_END_MS_FIELD_NUMBER << 3 | WireFormat.WIRETYPE_VARINT;
  private static final int SOURCE_TAG =
      LiveRow.SOURCE_FIELD_NUMBER << 3 | WireFormat.WIRETYPE_LENGTH_DELIMITED;

  public long eval(byte[] value, String source) {
    try {
      return value == null ? unreadable(source) : find(CodedInputStream.newInstance(value), source);
    } catch (IOException notProtobuf) {
      return unreadable(source);
    }
  }

  /** Reads all bytes, because a message that is malformed after the field is not a LiveRow. */
  private static long find(CodedInputStream in, String source) throws IOException {
    long end = 0;
    String found = "";
    for (int tag = in.readTag(); tag != 0; tag = in.readTag()) {
      if (tag == END_TAG) {
        end = in.readInt64();
      } else if (tag == SOURCE_TAG) {
        found = in.readString();
      } else {
        in.skipField(tag);
      }
    }
    if (!found.equals(source)) {
      return OTHER_SOURCE;
    }
    return end >= 0 && end <= LATEST_MS ? end : 0;
  }

  private static long unreadable(String source) {
    return source.isEmpty() ? 0 : OTHER_SOURCE;
  }
}
