package io.sparkfuse.detect;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.List;
import org.apache.flink.types.Row;
import org.apache.flink.util.Collector;
import org.junit.jupiter.api.Test;

class FrameBufferTest {
  private static byte[] joined(byte[]... contents) {
    FrameBuffer parts = new FrameBuffer();
    for (byte[] content : contents) {
      parts.add(content);
    }
    return parts.bytes();
  }

  private static List<byte[]> apart(byte[] joined) {
    List<byte[]> found = new ArrayList<>();
    SplitFrames function = new SplitFrames();
    function.setCollector(
        new Collector<>() {
          @Override
          public void collect(Row row) {
            found.add(row.getFieldAs(0));
          }

          @Override
          public void close() {}
        });
    function.eval(joined);
    return found;
  }

  @Test
  void writesLengthBeforeEachFrame() {
    byte[] wanted = {0, 0, 0, 3, 'a', 'b', 'c', 0, 0, 0, 0, 0, 0, 0, 1, 0};

    assertArrayEquals(wanted, joined("abc".getBytes(), new byte[0], new byte[1]));
  }

  @Test
  void splitsFramesInOrder() {
    byte[][] contents = new byte[200][];
    for (int number = 0; number < contents.length; number++) {
      contents[number] = new byte[number * 7];
      java.util.Arrays.fill(contents[number], (byte) number);
    }
    List<byte[]> found = apart(joined(contents));

    assertEquals(contents.length, found.size());
    for (int number = 0; number < contents.length; number++) {
      assertArrayEquals(contents[number], found.get(number));
    }
  }

  @Test
  void emptyInputHasNoFrames() {
    assertEquals(List.of(), apart(joined()));
  }
}
