package io.sparkfuse.windows.rows;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import io.sparkfuse.contracts.LiveRow;
import org.apache.flink.types.Row;
import org.junit.jupiter.api.Test;

class EnvelopesTest {
  /** Rows of a source have its name, and rows of the home cluster have no source. */
  @Test
  void rowsHaveTheSourceOfTheirFacts() {
    Row row = Row.withNames();
    row.setField("cluster", "eu");
    row.setField("tenant", null);
    row.setField("app_id", "app-1");
    row.setField("app_attempt", 1);
    row.setField("app_start_ms", 5L);

    LiveRow ofSource = Envelopes.of(row, "eu");

    assertEquals("eu", ofSource.getSource());
    assertEquals(Envelopes.of(row), ofSource.toBuilder().clearSource().build());
    assertFalse(Envelopes.of(row, "").hasSource());
  }
}
