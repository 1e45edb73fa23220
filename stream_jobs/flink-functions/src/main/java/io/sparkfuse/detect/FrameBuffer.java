package io.sparkfuse.detect;

import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * Joins several byte arrays into one; the length of each array (four bytes, big-endian) precedes
 * the array.
 *
 * <p>The detect job reads and writes the same format in Python.
 */
final class FrameBuffer {
  private byte[] buffer = new byte[1024];
  private int size;

  void add(byte[] content) {
    int needed = size + Integer.BYTES + content.length;
    if (needed > buffer.length) {
      buffer = Arrays.copyOf(buffer, Math.max(needed, 2 * buffer.length));
    }
    ByteBuffer.wrap(buffer).putInt(size, content.length);
    System.arraycopy(content, 0, buffer, size + Integer.BYTES, content.length);
    size = needed;
  }

  int size() {
    return size;
  }

  byte[] bytes() {
    return Arrays.copyOf(buffer, size);
  }
}
