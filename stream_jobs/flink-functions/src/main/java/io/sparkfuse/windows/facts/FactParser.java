package io.sparkfuse.windows.facts;

import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import io.sparkfuse.contracts.Fact;
import io.sparkfuse.windows.JobCounters;

/** Parses all fields of a record; {@link FactReader} decodes only the declared columns. */
public final class FactParser {
  private FactParser() {}

  /**
   * Returns the fact. If a field that the table does not declare is malformed, counts the record
   * and returns a fact without a kind.
   */
  public static Fact parse(byte[] record) {
    try {
      return Fact.parseFrom(record);
    } catch (InvalidProtocolBufferException malformed) {
      JobCounters.undecodable();
      return Fact.getDefaultInstance();
    }
  }

  public static Fact parse(ByteString record) {
    return parse(record.toByteArray());
  }
}
