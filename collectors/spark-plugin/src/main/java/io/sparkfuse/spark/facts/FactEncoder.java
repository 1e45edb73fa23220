package io.sparkfuse.spark.facts;

import io.sparkfuse.contracts.Fact;
import io.sparkfuse.spark.transport.Lane;

/**
 * Makes the record of a fact: envelope, event id, scrubbed text, Protobuf bytes.
 *
 * <p>One for each thread that encodes; callbacks never do.
 */
public final class FactEncoder {
  private final EventIds eventIds = new EventIds();
  private final String collector;

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
    return fact.setEventId(eventIds.of(fact)).build().toByteArray();
  }
}
