package io.sparkfuse.spark.transport;

import io.sparkfuse.spark.transport.QueuedRecord.Priority;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.zip.DataFormatException;
import java.util.zip.Deflater;
import java.util.zip.Inflater;

/**
 * Stores encoded records while the broker is away, in a queue of compressed blocks, so that a
 * minute of a busy application needs only a few megabytes.
 *
 * <p>The backlog uses Deflate, because every JVM has it; a library such as lz4 or zstd could
 * conflict with the version on the class path of the job. Records of a lower {@link Priority} are
 * refused before the memory is full. Used by the sender's thread only; any thread may read the
 * counts.
 */
final class Backlog {
  /** Size of a block before compression, large enough for repetitions to compress well. */
  static final int BLOCK_BYTES = 64 << 10;

  /**
   * Minimum number of blocks that fit into a backlog, so that the shares of memory for the
   * priorities have an effect.
   */
  private static final int MIN_BLOCKS = 128;

  /**
   * Level of the Deflater. Higher levels take up to twice the time and save only 3 % of the memory.
   */
  private static final int LEVEL = 3;

  private static final String[] TOPICS = {QueuedRecord.FACTS, QueuedRecord.RECEIPTS};
  private static final int BARE = 0x40;
  private static final int HEAD_BYTES = 1 + Integer.BYTES;

  private static final class Block {
    final byte[] deflated;
    final int rawBytes;

    Block(byte[] deflated, int rawBytes) {
      this.deflated = deflated;
      this.rawBytes = rawBytes;
    }
  }

  private final long maxBytes;
  private final int blockBytes;
  private final ArrayDeque<Block> blocks = new ArrayDeque<>();
  private final Deflater deflater = new Deflater(LEVEL, true);
  private ByteBuffer first = ByteBuffer.allocate(0);
  private ByteBuffer last = ByteBuffer.allocate(0);
  private long deflatedBytes;
  private volatile int waiting;
  private volatile long bytes;

  /** Creates a backlog that uses at most {@code maxBytes} of memory. */
  Backlog(long maxBytes) {
    this.maxBytes = maxBytes;
    this.blockBytes = (int) Math.min(BLOCK_BYTES, maxBytes / MIN_BLOCKS);
  }

  /**
   * Appends a record and returns true, or returns false if the memory for records of its priority
   * is full.
   *
   * @param bare whether the event id was removed from the value
   * @throws IllegalArgumentException if the topic is not one of {@link QueuedRecord}
   */
  boolean add(String topic, Priority priority, boolean bare, byte[] value) {
    int number = Arrays.asList(TOPICS).indexOf(topic);
    if (number < 0) {
      throw new IllegalArgumentException("there is no topic " + topic);
    }
    int size = HEAD_BYTES + value.length;
    if (memory() + size > maxBytes * priority.share) {
      return false;
    }
    if (last.remaining() < size) {
      close();
      last = ByteBuffer.allocate(Math.max(blockBytes, size));
    }
    int head = number << 4 | priority.ordinal();
    last.put((byte) (bare ? head | BARE : head));
    last.putInt(value.length).put(value);
    waiting++;
    bytes = memory();
    return true;
  }

  /** Returns the oldest record, or null; the record stays until {@link #removeFirst}. */
  Waiting first() {
    if (waiting == 0) {
      return null;
    }
    if (!first.hasRemaining()) {
      open();
    }
    ByteBuffer look = first.duplicate();
    int head = look.get();
    byte[] value = new byte[look.getInt()];
    look.get(value);
    return new Waiting(TOPICS[head >> 4 & 1], (head & BARE) != 0, value);
  }

  /** Removes the oldest record. */
  void removeFirst() {
    if (!first.hasRemaining()) {
      open();
    }
    first.get();
    first.position(first.position() + Integer.BYTES + first.getInt(first.position()));
    waiting--;
    if (waiting == 0) { // an empty backlog uses no memory
      first = ByteBuffer.allocate(0);
      last = ByteBuffer.allocate(0);
    }
    bytes = memory();
  }

  /** Returns the number of records. */
  int waiting() {
    return waiting;
  }

  /** Returns the memory in bytes. */
  long bytes() {
    return bytes;
  }

  /** One record of the backlog. */
  static final class Waiting {
    final String topic;
    final boolean bare;
    final byte[] value;

    Waiting(String topic, boolean bare, byte[] value) {
      this.topic = topic;
      this.bare = bare;
      this.value = value;
    }
  }

  private long memory() {
    return deflatedBytes + first.capacity() + last.capacity();
  }

  private void close() {
    if (last.position() == 0) {
      return;
    }
    byte[] out = new byte[last.position() + 64];
    deflater.reset();
    deflater.setInput(last.array(), 0, last.position());
    deflater.finish();
    int length = deflater.deflate(out);
    if (!deflater.finished() || length >= last.position()) { // not smaller: stored uncompressed
      out = last.array();
      length = last.position();
    }
    Block block = new Block(Arrays.copyOf(out, length), last.position());
    blocks.add(block);
    deflatedBytes += block.deflated.length;
    last = ByteBuffer.allocate(0);
  }

  private void open() {
    Block block = blocks.poll();
    if (block == null) {
      last.flip();
      first = last;
      last = ByteBuffer.allocate(0);
      return;
    }
    deflatedBytes -= block.deflated.length;
    first = ByteBuffer.wrap(inflated(block));
  }

  private static byte[] inflated(Block block) {
    if (block.deflated.length == block.rawBytes) {
      return block.deflated;
    }
    byte[] raw = new byte[block.rawBytes];
    Inflater inflater = new Inflater(true);
    try {
      inflater.setInput(block.deflated);
      if (inflater.inflate(raw) != raw.length) {
        throw new IllegalStateException("a block of the backlog is incomplete");
      }
      return raw;
    } catch (DataFormatException impossible) { // this object compressed the block itself
      throw new IllegalStateException(impossible);
    } finally {
      inflater.end();
    }
  }
}
