package io.sparkfuse.windows.rows;

import com.google.protobuf.Descriptors.FieldDescriptor;
import io.sparkfuse.contracts.LiveRow;
import java.util.List;
import org.apache.flink.types.Row;

/** The columns that identify an application: cluster, tenant, id, attempt and start. */
public final class Envelopes {
  private static final List<FieldDescriptor> COLUMNS =
      List.of("cluster", "tenant", "app_id", "app_attempt", "app_start_ms").stream()
          .map(LiveRow.getDescriptor()::findFieldByName)
          .toList();

  private Envelopes() {}

  /** Returns a LiveRow with only the identifying columns; NULL columns are absent. */
  public static LiveRow of(Row row) {
    LiveRow.Builder envelope = LiveRow.newBuilder();
    for (FieldDescriptor column : COLUMNS) {
      Object value = row.getField(column.getName());
      if (value != null) {
        envelope.setField(column, value);
      }
    }
    return envelope.build();
  }

  /** Returns {@link #of(Row)} with the source of the rows, unless it is empty. */
  public static LiveRow of(Row row, String source) {
    LiveRow envelope = of(row);
    return source.isEmpty() ? envelope : envelope.toBuilder().setSource(source).build();
  }

  /**
   * Returns a text that is unique for each application; an absent column gives another text than an
   * empty one.
   */
  public static String key(LiveRow envelope) {
    StringBuilder key = new StringBuilder();
    for (FieldDescriptor column : COLUMNS) {
      String value = envelope.hasField(column) ? "=" + envelope.getField(column) : "";
      key.append(value.length()).append(':').append(value);
    }
    return key.toString();
  }
}
