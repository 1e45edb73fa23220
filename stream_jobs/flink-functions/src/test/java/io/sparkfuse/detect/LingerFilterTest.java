package io.sparkfuse.detect;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.flink.table.api.dataview.MapView;
import org.junit.jupiter.api.Test;

class LingerFilterTest {
  private static final long LINGER_MS = 30_000;
  private final MapView<String, Long> kept = new MapView<>();
  private final LingerFilter filter = new LingerFilter(kept);

  private boolean passes(boolean holds, long atMs) throws Exception {
    return filter.passes("task/3/0/77", holds, false, atMs, LINGER_MS);
  }

  @Test
  void subjectWithoutMatchHasNoState() throws Exception {
    assertFalse(passes(false, 5_000));
    assertFalse(passes(false, 10_000));

    assertEquals(Map.of(), kept.getMap());
    assertFalse(filter.hasMatches());
  }

  @Test
  void passesRowsDuringAndAfterAMatch() throws Exception {
    List<Long> passed = new ArrayList<>();
    for (long atMs = 0; atMs <= 60_000; atMs += 5_000) {
      if (passes(atMs == 10_000 || atMs == 15_000, atMs)) {
        passed.add(atMs / 1000);
      }
    }

    assertEquals(List.of(10L, 15L, 20L, 25L, 30L, 35L, 40L, 45L), passed);
    assertFalse(filter.hasMatches());
  }

  @Test
  void subjectsAreIndependent() throws Exception {
    assertTrue(passes(true, 5_000));

    assertFalse(filter.passes("task/3/0/78", false, false, 5_000, LINGER_MS));
    assertTrue(filter.hasMatches());
  }

  /**
   * Rows that lack their beginning pass as long as they come, but only for subjects that matched.
   */
  @Test
  void incompleteRowsExtendTheLinger() throws Exception {
    passes(true, 0);
    for (long atMs = 5_000; atMs <= 300_000; atMs += 5_000) {
      assertTrue(filter.passes("task/3/0/77", false, true, atMs, LINGER_MS));
      assertFalse(filter.passes("task/3/0/78", false, true, atMs, LINGER_MS));
    }

    assertTrue(passes(false, 330_000));
    assertFalse(passes(false, 330_001));
  }

  @Test
  void replayedRowDoesNotShortenLinger() throws Exception {
    passes(true, 50_000);

    assertTrue(passes(true, 5_000));
    assertTrue(passes(false, 10_000));
    assertTrue(passes(false, 80_000));
    assertFalse(passes(false, 80_001));
  }
}
