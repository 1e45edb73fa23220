package io.sparkfuse.spark.listener;

import java.util.Arrays;
import java.util.function.LongConsumer;

/**
 * A hash table of limited size from non-negative ids to numbers. It creates no objects and uses 32
 * to 64 bytes per entry; it counts the ids that do not fit.
 */
final class LongMap {
  /** Marks an id that is known but has no value yet. */
  private static final long NONE = Long.MIN_VALUE;

  private static final long FREE = -1;

  private final int max;
  private long[] ids = newIds(16);
  private long[] values = new long[16];
  private int size;
  private int leftOut;

  LongMap(int max) {
    this.max = max;
  }

  /** Adds an id without a value; if the id already has a value, keeps the value. */
  void expect(long id) {
    int at = place(id);
    if (at >= 0 && ids[at] == FREE) {
      insert(at, id, NONE);
    }
  }

  /** Sets the value of an id, and adds the id if it is new. */
  void put(long id, long value) {
    int at = place(id);
    if (at >= 0 && ids[at] == FREE) {
      insert(at, id, value);
    } else if (at >= 0) {
      values[at] = value;
    }
  }

  /** Returns whether the id is known. */
  boolean expects(long id) {
    int at = place(id);
    return at >= 0 && ids[at] == id;
  }

  /** Returns the value of the id, or 0 if it has none. */
  long get(long id) {
    return expects(id) && values[place(id)] != NONE ? values[place(id)] : 0;
  }

  /** Calls the consumer with each id that has a value, in ascending order. */
  void forEachId(LongConsumer consumer) {
    long[] known = new long[size];
    int count = 0;
    for (int i = 0; i < ids.length; i++) {
      if (ids[i] != FREE && values[i] != NONE) {
        known[count++] = ids[i];
      }
    }
    Arrays.sort(known, 0, count);
    for (int i = 0; i < count; i++) {
      consumer.accept(known[i]);
    }
  }

  /** Returns the number of known ids. */
  int size() {
    return size;
  }

  /** Returns how many ids did not fit. */
  int leftOut() {
    return leftOut;
  }

  /** Returns the index where the id is or would be, or -1 for a negative id. */
  private int place(long id) {
    if (id < 0) {
      return -1;
    }
    int mask = ids.length - 1;
    int at = (int) ((id * 0x9E3779B97F4A7C15L) >>> 40) & mask;
    while (ids[at] != FREE && ids[at] != id) {
      at = (at + 1) & mask;
    }
    return at;
  }

  private void insert(int at, long id, long value) {
    if (size >= max) {
      leftOut++;
      return;
    }
    ids[at] = id;
    values[at] = value;
    size++;
    if (size * 2 > ids.length) {
      grow();
    }
  }

  private void grow() {
    long[] oldIds = ids;
    long[] oldValues = values;
    ids = newIds(oldIds.length * 2);
    values = new long[ids.length];
    for (int i = 0; i < oldIds.length; i++) {
      if (oldIds[i] != FREE) {
        int at = place(oldIds[i]);
        ids[at] = oldIds[i];
        values[at] = oldValues[i];
      }
    }
  }

  private static long[] newIds(int length) {
    long[] fresh = new long[length];
    Arrays.fill(fresh, FREE);
    return fresh;
  }
}
