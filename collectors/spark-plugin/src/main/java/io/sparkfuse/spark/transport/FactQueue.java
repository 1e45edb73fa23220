package io.sparkfuse.spark.transport;

import io.sparkfuse.spark.facts.Lane;
import io.sparkfuse.spark.transport.QueuedRecord.Priority;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;

/**
 * The queue between callbacks and sender. It has two lanes; the number of records and of bytes in
 * each lane is limited. {@link #offer} never blocks.
 *
 * <p>A fact gets the next number of its lane when the sender takes it or when it is dropped, so
 * consumers see a dropped fact as a gap. Facts leave in the order in which they arrived, so that an
 * end never precedes its start. Records that the broker does not accept wait in the sender's {@link
 * Backlog}, so this queue only covers pauses of the sender.
 *
 * <p>If a task ends while its start is still queued, the start is removed without a number, because
 * the end contains the same values. For jobs of short tasks, this saves half of all records.
 */
public final class FactQueue {
  /**
   * When the queue holds this many facts, the sender is woken; fewer facts wait for the sender's
   * next pass.
   */
  static final int MANY = 512;

  private static final class Bounded {
    /** Ordered by ticket, so that the oldest record comes first. */
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

  /** The task starts that are still queued, by task id. */
  private final HashMap<Long, QueuedRecord> starts = new HashMap<>();

  private long nextTicket;
  private long leftOut;

  /** Creates a queue with limits for each lane; a lane always accepts one fact. */
  public FactQueue(int bulkCount, long bulkBytes, int reservedCount, long reservedBytes) {
    bulk = new Bounded(bulkCount, bulkBytes);
    reserved = new Bounded(reservedCount, reservedBytes);
  }

  /** Queues a record or counts it as dropped. Does not block. */
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

  /**
   * Remembers the item if it is a task's start; if it is a task's end, removes the queued start of
   * the task.
   */
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

  /** Uses up a sequence number for an event that was skipped, so that consumers see the gap. */
  public synchronized void skip(Lane lane) {
    lane(lane).nextSeq++;
    lane(lane).passedOver++;
  }

  /** Counts a record that was taken from this queue and dropped later. */
  synchronized void countDropped(Lane lane) {
    lane(lane).dropped++;
  }

  /** Returns up to {@code max} records, oldest first; waits up to {@code waitMs} for the first. */
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

  /** Returns the number of queued records. */
  public synchronized int waiting() {
    return bulk.line.size() + reserved.line.size();
  }

  /** Returns the approximate memory of the queued records in bytes. */
  public synchronized long waitingBytes() {
    return bulk.bytes + reserved.bytes;
  }

  /** Returns how many records of a lane were dropped. */
  public synchronized long dropped(Lane lane) {
    return lane(lane).dropped;
  }

  /** Returns how many starts were removed because the task had ended. */
  public synchronized long leftOut() {
    return leftOut;
  }

  /** Returns how many events were skipped in both lanes. */
  public synchronized long skipped() {
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
