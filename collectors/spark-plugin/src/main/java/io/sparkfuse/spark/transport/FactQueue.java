package io.sparkfuse.spark.transport;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;

/**
 * Where callbacks put facts and the sender takes them: two lanes, each bounded by count and by
 * bytes; {@code offer} never waits.
 *
 * <p>A fact takes the next number of its lane when it is offered, room or not: one that was dropped
 * leaves a hole that consumers can count. Both lanes come out in the order they went in, so that an
 * end does not overtake what it ends. What the broker does not take waits in the sender's {@link
 * Backlog}, so this queue bridges no more than the sender's own pauses.
 */
public final class FactQueue {
  /** From so many on the sender is woken; fewer wait for its next look, which spares a wake-up. */
  static final int MANY = 512;

  private static final class Bounded {
    final ArrayDeque<Outgoing> waiting = new ArrayDeque<>();
    final int mostCount;
    final long mostBytes;
    long bytes;
    long nextSeq;
    long dropped;
    long passedOver;

    Bounded(int mostCount, long mostBytes) {
      this.mostCount = mostCount;
      this.mostBytes = mostBytes;
    }

    boolean hasRoom(Outgoing item) {
      double share = item.rank == Rank.MANY ? Rank.MANY.share : 1;
      return waiting.size() < mostCount * share && bytes + item.bytes <= mostBytes * share;
    }
  }

  private final Bounded bulk;
  private final Bounded reserved;
  private long nextTicket;

  /** Limits of each lane; one always has room for a single fact. */
  public FactQueue(int bulkCount, long bulkBytes, int reservedCount, long reservedBytes) {
    bulk = new Bounded(bulkCount, bulkBytes);
    reserved = new Bounded(reservedCount, reservedBytes);
  }

  /** Takes it if there is room; returns at once. */
  public synchronized boolean offer(Outgoing item) {
    Bounded lane = lane(item.rank.lane);
    if (item.fact != null) {
      item.seq = lane.nextSeq++;
    }
    if (!lane.hasRoom(item)) {
      lane.dropped++;
      return false;
    }
    item.ticket = nextTicket++;
    lane.bytes += item.bytes;
    lane.waiting.add(item);
    if (lane.waiting.size() == MANY) {
      notifyAll();
    }
    return true;
  }

  /** An event that was not looked at takes its number too, so that it is missed. */
  public synchronized void passOver(Lane lane) {
    lane(lane).nextSeq++;
    lane(lane).passedOver++;
  }

  /** A record that was taken from here found no room further on. */
  synchronized void countDropped(Lane lane) {
    lane(lane).dropped++;
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

  /** How much memory is taken by what waits, roughly. */
  public synchronized long waitingBytes() {
    return bulk.bytes + reserved.bytes;
  }

  /** How many of a lane found no room. */
  public synchronized long dropped(Lane lane) {
    return lane(lane).dropped;
  }

  /** How many events of both lanes were not looked at. */
  public synchronized long passedOver() {
    return bulk.passedOver + reserved.passedOver;
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
