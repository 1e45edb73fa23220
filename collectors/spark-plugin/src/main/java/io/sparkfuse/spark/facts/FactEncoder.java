package io.sparkfuse.spark.facts;

import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.WireFormat;
import io.sparkfuse.contracts.Fact;
import java.util.Arrays;

/**
 * Encodes a fact: scrubs its texts, sets its envelope and event id, and limits its Protobuf bytes
 * to {@link FactTruncator#MAX_BYTES}.
 *
 * <p>Each encoding thread has its own encoder; callbacks never encode.
 */
public final class FactEncoder {
  private static final int ID_FIELD_BYTES = 2 + EventIds.BYTES;

  private final EventIds eventIds = new EventIds();
  private final String collector;
  private volatile long cutFacts;

  public FactEncoder(String collector) {
    this.collector = collector;
  }

  /**
   * Returns the bytes of a fact whose kind and {@code event_time_ms} are set; do not use the
   * builder afterwards.
   */
  public byte[] encode(Fact.Builder fact, Application application, Lane lane, long seq) {
    FactScrubber.scrub(fact);
    fact.setCluster(application.cluster)
        .setTenant(application.tenant)
        .setAppId(application.id)
        .setAppAttempt(application.attempt)
        .setAppStartMs(application.startMs)
        .setCollector(collector)
        .setLane(lane.text())
        .setSeq(seq);
    Fact whole = fact.setEventId(eventIds.of(fact)).build();
    if (whole.getSerializedSize() > FactTruncator.MAX_BYTES) {
      Fact.Builder cut = FactTruncator.cut(whole).toBuilder();
      whole =
          cut.setEventId(eventIds.of(cut))
              .build(); // the event id may depend on a field that was shortened
      cutFacts++; // only one thread writes this counter
    }
    return whole.toByteArray();
  }

  /** Returns how many facts were shortened; thread-safe. */
  public long cutFacts() {
    return cutFacts;
  }

  /** Returns an encoded record without its event id, which is the first field. */
  public static byte[] withoutId(byte[] encoded) {
    return Arrays.copyOfRange(encoded, ID_FIELD_BYTES, encoded.length);
  }

  /**
   * Returns a record with its event id, from the result of {@link #withoutId}.
   *
   * @throws InvalidProtocolBufferException if the bytes are not a fact
   */
  public byte[] withId(byte[] bare) throws InvalidProtocolBufferException {
    byte[] encoded = new byte[ID_FIELD_BYTES + bare.length];
    encoded[0] = Fact.EVENT_ID_FIELD_NUMBER << 3 | WireFormat.WIRETYPE_LENGTH_DELIMITED;
    encoded[1] = EventIds.BYTES;
    eventIds.of(Fact.parseFrom(bare)).copyTo(encoded, 2);
    System.arraycopy(bare, 0, encoded, ID_FIELD_BYTES, bare.length);
    return encoded;
  }
}
