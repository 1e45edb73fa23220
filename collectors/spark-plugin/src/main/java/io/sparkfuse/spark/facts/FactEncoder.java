package io.sparkfuse.spark.facts;

import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.WireFormat;
import io.sparkfuse.contracts.Fact;
import java.util.Arrays;

/**
 * Makes the record of a fact: envelope, event id, scrubbed text, Protobuf bytes, at most {@link
 * FactTruncator#MAX_BYTES} of them.
 *
 * <p>One for each thread that encodes; callbacks never do.
 */
public final class FactEncoder {
  private static final int ID_FIELD_BYTES = 2 + EventIds.BYTES;

  private final EventIds eventIds = new EventIds();
  private final String collector;
  private volatile long cutFacts;

  public FactEncoder(String collector) {
    this.collector = collector;
  }

  /** The bytes of a fact whose kind and {@code event_time_ms} are set; the builder is used up. */
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
      whole = cut.setEventId(eventIds.of(cut)).build(); // which may be made of what was cut
      cutFacts++; // by one thread
    }
    return whole.toByteArray();
  }

  /** Facts that had to be cut; may be asked by any thread. */
  public long cutFacts() {
    return cutFacts;
  }

  /** A record of {@link #encode} without its event id, which is its first field. */
  public static byte[] withoutId(byte[] encoded) {
    return Arrays.copyOfRange(encoded, ID_FIELD_BYTES, encoded.length);
  }

  /**
   * What {@link #withoutId} was given.
   *
   * @throws InvalidProtocolBufferException if it is no fact
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
