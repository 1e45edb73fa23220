package io.sparkfuse.spark.transport;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;

/**
 * Two lanes, each bounded by count and by bytes; {@code offer} never waits for room.
 *
 * <p>A fact takes the next number of its lane when it is offered, room or not: one that was dropped
 * leaves a hole that consumers can count. Both lanes come out in the order they went in, so that an
 * end does not overtake what it ends.
 */
public final class FactQueue {
  private static final class Bounded {
    final ArrayDeque<Outgoing> waiting = new ArrayDeque<>();
    final int mostCount;
    final long mostBytes;
    long bytes;
    long nextSeq;
    long dropped;

    Bounded(int mostCount, long mostBytes) {
      this.mostCount = mostCount;
      this.mostBytes = mostBytes;
    }
  }

  private final Bounded bulk;
  private final Bounded reserved;
  private long nextTicket;

  /** Limits of the bulk lane, and the count of the reserved lane, which has bytes of its own. */
  public FactQueue(int bulkCount, long bulkBytes, int reservedCount) {
    bulk = new Bounded(bulkCount, bulkBytes);
    reserved = new Bounded(reservedCount, Math.max(1L << 20, bulkBytes / 4));
  }

  /** Takes it if there is room; returns at once. */
  public synchronized boolean offer(Outgoing item) {
    Bounded lane = lane(item.lane);
    if (item.fact != null) {
      item.seq = lane.nextSeq++;
    }
    if (lane.waiting.size() >= lane.mostCount || lane.bytes + item.bytes > lane.mostBytes) {
      lane.dropped++;
      return false;
    }
    item.ticket = nextTicket++;
    lane.bytes += item.bytes;
    lane.waiting.add(item);
    if (lane.waiting.size() == 1) {
      notifyAll();
    }
    return true;
  }

  /** Up to {@code most} of what waits, oldest first; waits up to {@code waitMs} for the first. */
  public synchronized List<Outgoing> take(int most, long waitMs) throws InterruptedException {
    if (waiting() == 0 && waitMs > 0) {
      wait(waitMs);
    }
    List<Outgoing> batch = new ArrayList<>(Math.min(most, waiting()));
    while (batch.size() < most && waiting() > 0) {
      Bounded lane = older();
      Outgoing item = lane.waiting.poll();
      lane.bytes -= item.bytes;
      batch.add(item);
    }
    return batch;
  }

  /** How many wait. */
  public synchronized int waiting() {
    return bulk.waiting.size() + reserved.waiting.size();
  }

  /** How many of a lane found no room. */
  public synchronized long dropped(Lane lane) {
    return lane(lane).dropped;
  }

  private Bounded lane(Lane lane) {
    return lane == Lane.RESERVED ? reserved : bulk;
  }

  private Bounded older() {
    Outgoing first = bulk.waiting.peek();
    Outgoing second = reserved.waiting.peek();
    if (first == null) {
      return reserved;
    }
    return second != null && second.ticket < first.ticket ? reserved : bulk;
  }
}
