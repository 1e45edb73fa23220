package io.sparkfuse.windows;

import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import io.sparkfuse.contracts.Fact;

/** Reads a fact whole that {@link FactReader} let through by its declared columns only. */
final class Facts {
  private Facts() {}

  /**
   * The fact, or one without a kind when a part that no column is declared for is broken: that is
   * counted, and no reason to stop.
   */
  static Fact parse(byte[] record) {
    try {
      return Fact.parseFrom(record);
    } catch (InvalidProtocolBufferException brokenInside) {
      Tally.undecodable();
      return Fact.getDefaultInstance();
    }
  }

  static Fact parse(ByteString record) {
    return parse(record.toByteArray());
  }
}
