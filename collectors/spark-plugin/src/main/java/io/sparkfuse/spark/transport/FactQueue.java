package io.sparkfuse.spark.transport;

import io.sparkfuse.spark.facts.Lane;
import io.sparkfuse.spark.transport.QueuedRecord.Priority;
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
    final LinkedHashMap<Long, QueuedRecord> line = new LinkedHashMap<>();

    final int maxCount;
    final long maxBytes;
    long bytes;
    long nextSeq;
    long dropped;
    long passedOver;

    Bounded(int maxCount, long maxBytes) {
      this.maxCount = maxCount;
      this.maxBytes = maxBytes;
    }

    boolean hasRoom(QueuedRecord item) {
      double share = item.priority == Priority.MANY ? Priority.MANY.share : 1;
      return line.size() < maxCount * share && bytes + item.bytes <= maxBytes * share;
    }

    void add(QueuedRecord item) {
      line.put(item.ticket, item);
      bytes += item.bytes;
    }

    void remove(QueuedRecord item) {
      line.remove(item.ticket);
      bytes -= item.bytes;
    }

    QueuedRecord first() {
      return line.isEmpty() ? null : line.values().iterator().next();
    }
  }

  private final Bounded bulk;
  private final Bounded reserved;

  /** Starts that wait, by task: each is here as long as it is in its lane and not left out. */
  private final HashMap<Long, QueuedRecord> starts = new HashMap<>();

  private long nextTicket;
  private long leftOut;

  /** Limits of each lane; one always has room for a single fact. */
  public FactQueue(int bulkCount, long bulkBytes, int reservedCount, long reservedBytes) {
    bulk = new Bounded(bulkCount, bulkBytes);
    reserved = new Bounded(reservedCount, reservedBytes);
  }

  /** Takes it if there is room; returns at once. */
  public synchronized boolean offer(QueuedRecord item) {
    Bounded lane = lane(item.priority.lane);
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
  private void pair(QueuedRecord item) {
    if (item.startedTask != null) {
      starts.put(item.startedTask, item);
    }
    QueuedRecord start = item.endedTask == null ? null : starts.remove(item.endedTask);
    if (start != null) {
      lane(start.priority.lane).remove(start);
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
  public synchronized List<QueuedRecord> take(int most, long waitMs) throws InterruptedException {
    if (waiting() == 0 && waitMs > 0) {
      wait(waitMs);
    }
    List<QueuedRecord> batch = new ArrayList<>(Math.min(most, waiting()));
    while (batch.size() < most && waiting() > 0) {
      QueuedRecord item = older();
      Bounded lane = lane(item.priority.lane);
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

  private QueuedRecord older() {
    QueuedRecord first = bulk.first();
    QueuedRecord second = reserved.first();
    boolean reservedGoes = first == null || second != null && second.ticket < first.ticket;
    return reservedGoes ? second : first;
  }
}
