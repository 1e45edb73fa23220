package io.sparkfuse.detect;

import io.sparkfuse.contracts.LiveRow;
import io.sparkfuse.contracts.LiveTypes;
import io.sparkfuse.windows.facts.MessageReader;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.StringData;
import org.apache.flink.table.types.logical.BigIntType;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.flink.table.types.logical.RowType;
import org.apache.flink.table.types.logical.VarCharType;
import org.apache.flink.table.types.logical.utils.LogicalTypeParser;

/**
 * Decodes a LiveRow into its columns, preceded by three columns that later steps need: {@code
 * app_key}, {@code kind} and {@code subject}.
 *
 * <p>{@code app_key} identifies the application attempt; its parts are separated by {@value
 * #SEPARATOR}. {@code app_key} is empty if the bytes are not a LiveRow, or have no application,
 * window or view. {@code kind} is the name of the oneof member that is set. {@code subject} names
 * the stage, task or other object that the row describes, as {@code subjects.subject_name} of the
 * detect job does; it is NULL for starts and ends.
 */
final class LiveRowReader {
  static final char SEPARATOR = '\u001f';
  private static final List<String> EXTRA_COLUMNS = List.of("app_key", "kind", "subject");
  private static final int APP_KEY = 0;
  private static final int KIND = 1;
  private static final int SUBJECT = 2;
  private static final StringData EMPTY = StringData.fromString("");

  /** The columns of a decoded row. */
  static final RowType COLUMNS = columns();

  private final MessageReader message =
      new MessageReader(LiveRow.getDescriptor(), COLUMNS, Set.copyOf(EXTRA_COLUMNS));
  private final List<Member> members = members();
  private final int cluster = COLUMNS.getFieldIndex("cluster");
  private final int appId = COLUMNS.getFieldIndex("app_id");
  private final int appAttempt = COLUMNS.getFieldIndex("app_attempt");
  private final int appStartMs = COLUMNS.getFieldIndex("app_start_ms");
  private final int windowEndMs = COLUMNS.getFieldIndex("window_end_ms");

  /**
   * Decodes a row. If the row cannot be used, {@code app_key} is empty and all other columns are
   * NULL.
   */
  RowData read(byte[] value) {
    GenericRowData row = decoded(value);
    Member member = member(row);
    if (member == null || !isAddressed(row)) {
      GenericRowData rejected = new GenericRowData(COLUMNS.getFieldCount());
      rejected.setField(APP_KEY, EMPTY);
      return rejected;
    }
    row.setField(APP_KEY, StringData.fromString(appKey(row)));
    row.setField(KIND, member.name);
    String subject = member.subject(row, text(row, cluster));
    row.setField(SUBJECT, subject == null ? null : StringData.fromString(subject));
    return row;
  }

  private GenericRowData decoded(byte[] value) {
    try {
      return value == null ? null : message.read(value);
    } catch (IOException notProtobuf) {
      return null;
    }
  }

  private Member member(GenericRowData row) {
    if (row != null) {
      for (Member member : members) {
        if (!row.isNullAt(member.position)) {
          return member;
        }
      }
    }
    return null;
  }

  private boolean isAddressed(GenericRowData row) {
    return !text(row, appId).isEmpty() && number(row, windowEndMs) != 0;
  }

  private String appKey(GenericRowData row) {
    int attempt = row.isNullAt(appAttempt) ? 0 : row.getInt(appAttempt);
    return text(row, cluster)
        + SEPARATOR
        + text(row, appId)
        + SEPARATOR
        + number(row, appStartMs)
        + SEPARATOR
        + attempt;
  }

  private static String text(RowData row, int position) {
    return row.isNullAt(position) ? "" : row.getString(position).toString();
  }

  private static long number(RowData row, int position) {
    return row.isNullAt(position) ? 0 : row.getLong(position);
  }

  private static RowType columns() {
    RowType live =
        (RowType) LogicalTypeParser.parse(LiveTypes.LIVE_ROW, LiveRowReader.class.getClassLoader());
    List<RowType.RowField> fields = new ArrayList<>();
    for (String name : EXTRA_COLUMNS) {
      fields.add(new RowType.RowField(name, VarCharType.STRING_TYPE));
    }
    fields.addAll(live.getFields());
    return new RowType(false, fields);
  }

  private static List<Member> members() {
    List<Member> members = new ArrayList<>();
    LiveRow.getDescriptor()
        .getOneofs()
        .get(0)
        .getFields()
        .forEach(field -> members.add(new Member(field.getName())));
    return members;
  }

  /** One member of the oneof, and how its subject is named. */
  private static final class Member {
    /**
     * The parts of a subject's name, by kind of row: the first word of the name, then columns of
     * the row.
     */
    private static final Map<String, List<String>> NAMES =
        Map.of(
            "stage", List.of("stage", "stage_id", "stage_attempt"),
            "task", List.of("task", "stage_id", "stage_attempt", "task_id"),
            "failure", List.of("failure", "stage_id", "stage_attempt"),
            "executor", List.of("executor", "executor_id"),
            "executor_loss", List.of("loss", "executor_id"),
            "job", List.of("jobs"),
            "application", List.of("application"),
            "host", List.of("host"),
            "query", List.of("query", "query_id"),
            "streaming", List.of("streaming", "streaming_id"));

    final StringData name;
    final int position;
    private final boolean perCluster;
    private final int size;
    private final String word;
    private final Map<Integer, LogicalType> parts = new HashMap<>();
    private final List<Integer> order = new ArrayList<>();
    private final int outlived;

    Member(String name) {
      this.name = StringData.fromString(name);
      this.position = COLUMNS.getFieldIndex(name);
      this.perCluster = "host".equals(name);
      RowType columns = (RowType) COLUMNS.getTypeAt(position);
      this.size = columns.getFieldCount();
      List<String> words = NAMES.getOrDefault(name, List.of());
      this.word = words.isEmpty() ? null : words.get(0);
      for (String part : words.subList(Math.min(1, words.size()), words.size())) {
        int place = columns.getFieldIndex(part);
        order.add(place);
        parts.put(place, columns.getTypeAt(place));
      }
      this.outlived = "task".equals(name) ? columns.getFieldIndex("outlived_ms") : -1;
    }

    /**
     * The name of the subject; when its stage ends, a task that still runs becomes a different
     * subject.
     */
    String subject(RowData row, String cluster) {
      if (word == null) {
        return null;
      }
      RowData columns = row.getRow(position, size);
      StringBuilder subject = new StringBuilder(word);
      if (outlived >= 0 && !columns.isNullAt(outlived)) {
        subject.replace(0, subject.length(), "zombie");
      }
      for (int place : order) {
        subject.append('/').append(part(columns, place));
      }
      return (perCluster ? subject.append('/').append(cluster) : subject).toString();
    }

    private String part(RowData columns, int place) {
      LogicalType type = parts.get(place);
      if (type instanceof VarCharType) {
        return text(columns, place);
      }
      if (type instanceof BigIntType) {
        return Long.toString(number(columns, place));
      }
      return Integer.toString(columns.isNullAt(place) ? 0 : columns.getInt(place));
    }
  }
}
