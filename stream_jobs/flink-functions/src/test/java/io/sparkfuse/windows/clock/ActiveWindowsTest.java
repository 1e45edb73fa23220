package io.sparkfuse.windows.clock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sparkfuse.contracts.LiveRow;
import io.sparkfuse.windows.application.Application;
import io.sparkfuse.windows.rows.Envelopes;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.apache.flink.types.Row;
import org.apache.flink.types.RowKind;
import org.junit.jupiter.api.Test;

class ActiveWindowsTest {
  private static final LiveRow ENVELOPE = LiveRow.newBuilder().setAppId("app-1").build();
  private static final long DAY_MS = ActiveWindows.SILENT_MS;

  /** The same windows are quiet whether facts arrive one by one or far ahead of the watermark. */
  @Test
  void replayHasTheSameQuietWindows() throws Exception {
    for (int round = 0; round < 200; round++) {
      Random random = new Random(round);
      List<Integer> active = new ArrayList<>();
      for (int window = 1; window < 60; window++) {
        if (random.nextInt(3) == 0) {
          active.add(window);
        }
      }

      assertEquals(quiet(active, new Random(0), 1), quiet(active, random, 20), active.toString());
    }
  }

  /**
   * Returns the quiet windows; the facts of up to {@code ahead} windows arrive before the first of
   * them closes.
   */
  private static List<Integer> quiet(List<Integer> active, Random random, int ahead)
      throws Exception {
    List<Integer> quiet = new ArrayList<>();
    byte[] saved = null;
    Long watermark = null;
    for (int window = 1; window < 60; ) {
      int until = Math.min(59, window + random.nextInt(ahead));
      for (int number = window; number <= until; number++) {
        if (active.contains(number)) {
          ActiveWindows windows = ActiveWindows.restore(saved, ENVELOPE);
          windows.addActive(number * 5000L, watermark);
          saved = windows.save();
        }
      }
      for (; window <= until; window++) {
        if (saved != null && ActiveWindows.restore(saved, null).isQuiet(window * 5000L)) {
          quiet.add(window);
        }
      }
      watermark = until * 5000L - 1;
    }
    return quiet;
  }

  /** Only the windows that the watermark has not closed and the last closed one are stored. */
  @Test
  void keepsOnlyOpenWindows() throws Exception {
    byte[] saved = null;
    for (long end = 5000; end < 50_000_000; end += 5000) {
      ActiveWindows windows = ActiveWindows.restore(saved, ENVELOPE);
      windows.addActive(end, end - 5001);
      saved = windows.save();
    }

    assertTrue(saved.length < 40, saved.length + " bytes");
  }

  /** A silent application is reported for a day; an ended one is reported for the grace period. */
  @Test
  void silentApplicationExpires() throws Exception {
    ActiveWindows running = ActiveWindows.restore(null, ENVELOPE);
    running.addActive(5000, null);
    ActiveWindows ended = ActiveWindows.restore(null, ENVELOPE);
    ended.addActive(5000, null);
    ended.end(5000);

    assertFalse(running.isExpired(DAY_MS));
    assertTrue(running.isExpired(DAY_MS + 5000));
    assertFalse(ended.isExpired(Application.GRACE_MS));
    assertTrue(ended.isExpired(Application.GRACE_MS + 5000));
    assertNull(running.dropUntil(DAY_MS + 5000));
  }

  /** Facts of later windows do not count before their window closes. */
  @Test
  void laterWindowsAreIgnored() throws Exception {
    ActiveWindows windows = ActiveWindows.restore(null, ENVELOPE);
    windows.addActive(5000, null);
    windows.addActive(DAY_MS + 20_000, null);
    windows.end(DAY_MS + 20_000);
    ActiveWindows later = ActiveWindows.restore(null, ENVELOPE);
    later.addActive(20_000, null);

    assertTrue(windows.isExpired(DAY_MS + 5000), "silent for a day, although facts follow later");
    assertNotNull(windows.dropUntil(DAY_MS + 5000));
    assertFalse(later.isQuiet(10_000), "not there yet");
    assertFalse(later.isExpired(10_000));
  }

  /** If the end of an application arrives after its window has closed, no state remains. */
  @Test
  void lateEndLeavesNoState() throws Exception {
    ActiveWindows windows = ActiveWindows.restore(null, ENVELOPE);
    windows.end(5000);

    assertFalse(windows.isQuiet(10_000));
    assertTrue(windows.isExpired(10_000));
    assertNull(windows.dropUntil(10_000));
  }

  /** The keys of two applications differ even if columns are absent or contain separators. */
  @Test
  void keysOfApplicationsDiffer() {
    Row named = Row.withNames(RowKind.INSERT);
    named.setField("cluster", "a");
    named.setField("tenant", null);
    named.setField("app_id", "b");
    named.setField("app_attempt", 1);
    named.setField("app_start_ms", 7L);
    LiveRow one = Envelopes.of(named);
    LiveRow other = one.toBuilder().clearCluster().setTenant("a").build();

    assertEquals("a", one.getCluster());
    assertFalse(one.hasTenant());
    assertFalse(Envelopes.key(one).equals(Envelopes.key(other)));
    assertFalse(
        Envelopes.key(LiveRow.newBuilder().setCluster("").build())
            .equals(Envelopes.key(LiveRow.getDefaultInstance())));
  }
}
