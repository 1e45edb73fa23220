package io.sparkfuse.detect;

import org.apache.flink.api.common.functions.MapFunction;
import org.apache.flink.types.Row;

/**
 * A table's row as a keyed Python step takes it: its first column, and the next ones as a row of
 * their own.
 *
 * <p>PyFlink's own key_by sends each row to Python and back for it.
 */
public final class KeyAndRow implements MapFunction<Row, Row> {
  private static final long serialVersionUID = 1L;
  private final int columns;

  /**
   * @param columns how many columns behind the key are kept
   */
  public KeyAndRow(int columns) {
    this.columns = columns;
  }

  @Override
  public Row map(Row row) {
    Row kept = new Row(columns);
    for (int column = 0; column < columns; column++) {
      kept.setField(column, row.getField(column + 1));
    }
    return Row.of(row.getField(0), kept);
  }
}
