package io.sparkfuse.spark.transport;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;

/**
 * Where callbacks put facts and the sender takes them: two lanes, each bounded by count and by
 * bytes; {@code offer} never waits.
 *
 * <p>A fact takes the next number of its lane when it is taken from here, or when it finds no room:
 * so one that was dropped leaves a hole that consumers can count. Both lanes come out in the order
 * they went in, so that an end does not overtake what it ends. What the broker does not take waits
 * in the sender's {@link Backlog}, so this queue bridges no more than the sender's own pauses.
 *
 * <p>A task's start is left out, and takes no number, when the task ends while its start still
 * waits here: the end says all that the start would have said. Of jobs of short tasks that is half
 * of all records.
 */
public final class FactQueue {
  /** From so many on the sender is woken; fewer wait for its next look, which spares a wake-up. */
  static final int MANY = 512;

  private static final class Bounded {
    /** By ticket, so oldest first. */
    final LinkedHashMap<Long, Outgoing> line = new LinkedHashMap<>();

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
      return line.size() < mostCount * share && bytes + item.bytes <= mostBytes * share;
    }

    void add(Outgoing item) {
      line.put(item.ticket, item);
      bytes += item.bytes;
    }

    void remove(Outgoing item) {
      line.remove(item.ticket);
      bytes -= item.bytes;
    }

    Outgoing first() {
      return line.isEmpty() ? null : line.values().iterator().next();
    }
  }

  private final Bounded bulk;
  private final Bounded reserved;

  /** Starts that wait, by task: each is here as long as it is in its lane and not left out. */
  private final HashMap<Long, Outgoing> starts = new HashMap<>();

  private long nextTicket;
  private long leftOut;

  /** Limits of each lane; one always has room for a single fact. */
  public FactQueue(int bulkCount, long bulkBytes, int reservedCount, long reservedBytes) {
    bulk = new Bounded(bulkCount, bulkBytes);
    reserved = new Bounded(reservedCount, reservedBytes);
  }

  /** Takes it if there is room; returns at once. */
  public synchronized boolean offer(Outgoing item) {
    Bounded lane = lane(item.rank.lane);
    if (!lane.hasRoom(item)) {
      lane.nextSeq += item.fact != null ? 1 : 0;
      lane.dropped++;
      return false;
    }
    item.ticket = nextTicket++;
    lane.add(item);
    pair(item);
    if (lane.line.size() == MANY) {
      notifyAll();
    }
    return true;
  }

  /** Remembers a start, and leaves out that of an end. */
  private void pair(Outgoing item) {
    if (item.startedTask != null) {
      starts.put(item.startedTask, item);
    }
    Outgoing start = item.endedTask == null ? null : starts.remove(item.endedTask);
    if (start != null) {
      lane(start.rank.lane).remove(start);
      leftOut++;
    }
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
      Outgoing item = older();
      Bounded lane = lane(item.rank.lane);
      lane.remove(item);
      if (item.fact != null) {
        item.seq = lane.nextSeq++;
      }
      if (item.startedTask != null) {
        starts.remove(item.startedTask);
      }
      batch.add(item);
    }
    return batch;
  }

  /** How many wait. */
  public synchronized int waiting() {
    return bulk.line.size() + reserved.line.size();
  }

  /** How much memory is taken by what waits, roughly. */
  public synchronized long waitingBytes() {
    return bulk.bytes + reserved.bytes;
  }

  /** How many of a lane found no room. */
  public synchronized long dropped(Lane lane) {
    return lane(lane).dropped;
  }

  /** How many starts were left out for their ends. */
  public synchronized long leftOut() {
    return leftOut;
  }

  /** How many events of both lanes were not looked at. */
  public synchronized long passedOver() {
    return bulk.passedOver + reserved.passedOver;
  }

  private Bounded lane(Lane lane) {
    return lane == Lane.RESERVED ? reserved : bulk;
  }

  private Outgoing older() {
    Outgoing first = bulk.first();
    Outgoing second = reserved.first();
    boolean reservedGoes = first == null || second != null && second.ticket < first.ticket;
    return reservedGoes ? second : first;
  }
}
