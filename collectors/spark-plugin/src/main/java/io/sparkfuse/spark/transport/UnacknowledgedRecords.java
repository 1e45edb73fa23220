package io.sparkfuse.spark.transport;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;

/**
 * Copies of the records that one client accepted and the broker has not acknowledged, so that they
 * can be sent to another cluster.
 *
 * <p>If the broker refuses a record and acknowledges another one later, the cause is the record, so
 * it counts as failed. Without a later acknowledgement the cause is the cluster, so the copy stays.
 * Any thread may call the methods.
 */
final class UnacknowledgedRecords {
  private final long maxBytes;
  private final DeliveryCounters deliveries;

  /** In the order of sending. */
  private final LinkedHashSet<SentRecord> records = new LinkedHashSet<>();

  private final List<SentRecord> refused = new ArrayList<>();
  private long bytes;

  /** Creates an empty set of copies that use at most {@code maxBytes}, or hold one record. */
  UnacknowledgedRecords(long maxBytes, DeliveryCounters deliveries) {
    this.maxBytes = maxBytes;
    this.deliveries = deliveries;
  }

  /** Adds a copy and returns true, or returns false if the memory is full. */
  synchronized boolean add(SentRecord copy) {
    if (!records.isEmpty() && bytes + copy.bytes() > maxBytes) {
      return false;
    }
    bytes += copy.bytes();
    return records.add(copy);
  }

  /** Removes a record and returns true, or returns false if it was taken back before. */
  synchronized boolean remove(SentRecord copy) {
    boolean removed = records.remove(copy);
    bytes -= removed ? copy.bytes() : 0;
    return removed;
  }

  /** Counts a record as acknowledged, and the records that were refused before it as failed. */
  synchronized void acknowledged(SentRecord copy) {
    if (remove(copy)) {
      deliveries.acknowledgedOne();
      refused.forEach(this::remove);
      deliveries.failedBefore(refused.size());
      refused.clear();
    }
  }

  /** Remembers that the broker refused a record. */
  synchronized void refused(SentRecord copy) {
    if (records.contains(copy)) {
      refused.add(copy);
      deliveries.refusedOne();
    }
  }

  /** Removes and returns all records, oldest first; later results of them have no effect. */
  synchronized List<SentRecord> takeAll() {
    List<SentRecord> all = new ArrayList<>(records);
    records.clear();
    refused.clear();
    bytes = 0;
    deliveries.withdrawn(all.size());
    return all;
  }
}
