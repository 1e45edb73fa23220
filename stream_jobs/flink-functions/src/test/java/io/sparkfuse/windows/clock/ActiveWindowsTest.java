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

  /** The same windows are quiet whether words come one by one or far ahead of the watermark. */
  @Test
  void aReplayIsAsQuietAsTheFirstTime() throws Exception {
    for (int round = 0; round < 200; round++) {
      Random random = new Random(round);
      List<Integer> heard = new ArrayList<>();
      for (int window = 1; window < 60; window++) {
        if (random.nextInt(3) == 0) {
          heard.add(window);
        }
      }

      assertEquals(quiet(heard, new Random(0), 1), quiet(heard, random, 20), heard.toString());
    }
  }

  /** Windows that pass; words of up to {@code ahead} of them have come before the first passes. */
  private static List<Integer> quiet(List<Integer> heard, Random random, int ahead)
      throws Exception {
    List<Integer> quiet = new ArrayList<>();
    byte[] saved = null;
    Long watermark = null;
    for (int window = 1; window < 60; ) {
      int until = Math.min(59, window + random.nextInt(ahead));
      for (int word = window; word <= until; word++) {
        if (heard.contains(word)) {
          ActiveWindows watch = ActiveWindows.restore(saved, ENVELOPE);
          watch.hear(word * 5000L, watermark);
          saved = watch.save();
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

  /** Words pile up only as far as the watermark is behind. */
  @Test
  void remembersNoMoreThanItNeeds() throws Exception {
    byte[] saved = null;
    for (long end = 5000; end < 50_000_000; end += 5000) {
      ActiveWindows watch = ActiveWindows.restore(saved, ENVELOPE);
      watch.hear(end, end - 5001);
      saved = watch.save();
    }

    assertTrue(saved.length < 40, saved.length + " bytes");
  }

  /** An application is told for a day of silence, one that ended for its grace. */
  @Test
  void silenceEnds() throws Exception {
    ActiveWindows running = ActiveWindows.restore(null, ENVELOPE);
    running.hear(5000, null);
    ActiveWindows ended = ActiveWindows.restore(null, ENVELOPE);
    ended.hear(5000, null);
    ended.end(5000);

    assertFalse(running.isOver(DAY_MS));
    assertTrue(running.isOver(DAY_MS + 5000));
    assertFalse(ended.isOver(Application.GRACE_MS));
    assertTrue(ended.isOver(Application.GRACE_MS + 5000));
    assertNull(running.after(DAY_MS + 5000));
  }

  /** What came ahead of the watermark is not there before its window is. */
  @Test
  void theFutureDoesNotCount() throws Exception {
    ActiveWindows watch = ActiveWindows.restore(null, ENVELOPE);
    watch.hear(5000, null);
    watch.hear(DAY_MS + 20_000, null);
    watch.end(DAY_MS + 20_000);
    ActiveWindows later = ActiveWindows.restore(null, ENVELOPE);
    later.hear(20_000, null);

    assertTrue(watch.isOver(DAY_MS + 5000), "silent for a day, though it will speak");
    assertNotNull(watch.after(DAY_MS + 5000));
    assertFalse(later.isQuiet(10_000), "not there yet");
    assertFalse(later.isOver(10_000));
  }

  /** An end that came too late for its window leaves nothing behind. */
  @Test
  void aLateEndIsNoApplication() throws Exception {
    ActiveWindows watch = ActiveWindows.restore(null, ENVELOPE);
    watch.end(5000);

    assertFalse(watch.isQuiet(10_000));
    assertTrue(watch.isOver(10_000));
    assertNull(watch.after(10_000));
  }

  /** Two applications never share a key, whatever is absent or written in their names. */
  @Test
  void keysTellApplicationsApart() {
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
