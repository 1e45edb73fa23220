package io.sparkfuse.windows.facts;

import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import io.sparkfuse.contracts.Fact;
import org.apache.flink.metrics.Counter;
import org.apache.flink.metrics.ThreadSafeSimpleCounter;

/** Parses all fields of a record; {@link FactReader} decodes only the declared columns. */
public final class FactParser {
  /** The counter of a source instance in this JVM, because the callers run in many steps. */
  private static volatile Counter malformedRecords = new ThreadSafeSimpleCounter();

  private FactParser() {}

  static void countMalformed(Counter counter) {
    malformedRecords = counter;
  }

  /**
   * Returns the fact. If a field that the table does not declare is malformed, counts the record
   * and returns a fact without a kind.
   */
  public static Fact parse(byte[] record) {
    try {
      return Fact.parseFrom(record);
    } catch (InvalidProtocolBufferException malformed) {
      malformedRecords.inc();
      return Fact.getDefaultInstance();
    }
  }

  public static Fact parse(ByteString record) {
    return parse(record.toByteArray());
  }
}
