package io.sparkfuse.windows.facts;

import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import io.sparkfuse.contracts.Fact;
import io.sparkfuse.windows.JobCounters;

/** Reads a fact whole that {@link FactReader} let through by its declared columns only. */
public final class FactParser {
  private FactParser() {}

  /**
   * The fact, or one without a kind when a part that no column is declared for is broken: that is
   * counted, and no reason to stop.
   */
  public static Fact parse(byte[] record) {
    try {
      return Fact.parseFrom(record);
    } catch (InvalidProtocolBufferException brokenInside) {
      JobCounters.undecodable();
      return Fact.getDefaultInstance();
    }
  }

  public static Fact parse(ByteString record) {
    return parse(record.toByteArray());
  }
}
