package io.sparkfuse.windows.facts;

import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import io.sparkfuse.contracts.Fact;
import io.sparkfuse.contracts.Limits;
import io.sparkfuse.contracts.Undecodable;
import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;
import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.StringData;
import org.apache.flink.table.types.logical.RowType;

/**
 * Decodes a record into a row of the declared columns, or returns the reason why the record is not
 * a fact.
 */
final class FactReader {
  static final int PAYLOAD_LIMIT_BYTES = Limits.DEAD_LETTER_PAYLOAD_BYTES;
  private static final Descriptor FACT = Fact.getDescriptor();
  private static final int APP_ID = Fact.APP_ID_FIELD_NUMBER;
  private static final String KIND = "kind";

  /** The default of {@code spark.sparkfuse.cluster}. */
  private static final StringData DEFAULT_CLUSTER = StringData.fromString("default");

  private static final String VALUE = "value";
  private static final StringData[] KINDS = kinds();

  /** Without one of these fields, a fact cannot belong to a stage, and steps that use it fail. */
  private static final Set<String> IDS = Set.of("stage_id", "stage_attempt");

  private static final Set<Integer> KINDS_OF_STAGES =
      Set.of(
          Fact.STAGE_STARTED_FIELD_NUMBER,
          Fact.STAGE_ENDED_FIELD_NUMBER,
          Fact.TASK_STARTED_FIELD_NUMBER,
          Fact.TASK_PROGRESS_FIELD_NUMBER,
          Fact.TASK_ENDED_FIELD_NUMBER);

  private final RowType columns;
  private final MessageReader message;
  private final StringData cluster;
  private final int clusterPosition;
  private final int kindPosition;
  private final int valuePosition;

  /** For each kind of KINDS_OF_STAGES: the position of its column, and of IDS in the column. */
  private final int[][] idPositions = new int[KINDS.length][];

  FactReader(RowType columns) {
    this(columns, "");
  }

  /** {@code cluster} replaces the default name of a cluster, unless it is empty. */
  FactReader(RowType columns, String cluster) {
    this.columns = columns;
    this.cluster = StringData.fromString(cluster);
    this.clusterPosition = cluster.isEmpty() ? -1 : columns.getFieldIndex("cluster");
    this.message = new MessageReader(FACT, columns, Set.of(KIND, VALUE));
    this.kindPosition = columns.getFieldIndex(KIND);
    this.valuePosition = columns.getFieldIndex(VALUE);
    for (int kind : KINDS_OF_STAGES) {
      int position = columns.getFieldIndex(KINDS[kind].toString());
      if (position >= 0 && columns.getTypeAt(position) instanceof RowType fields) {
        idPositions[kind] =
            IntStream.concat(
                    IntStream.of(position),
                    IDS.stream().mapToInt(fields::getFieldIndex).filter(place -> place >= 0))
                .toArray();
      }
    }
  }

  /**
   * Checks the declared columns when the query is planned.
   *
   * @throws org.apache.flink.table.api.ValidationException if a Fact has no such column or type
   */
  static void check(RowType columns) {
    new FactReader(columns);
  }

  /**
   * Decodes a record.
   *
   * @throws UndecodableException with the reason, if the record is not a fact
   */
  RowData read(byte[] value) throws UndecodableException {
    if (value == null || value.length == 0) {
      throw new UndecodableException("the record is empty");
    }
    GenericRowData row;
    WireScan scan = new WireScan();
    try {
      row = message.read(value, scan);
    } catch (IOException notProtobuf) {
      throw new UndecodableException("the record is not a Protobuf message of a fact");
    }
    check(scan);
    checkIds(row, idPositions[scan.kind]);
    if (clusterPosition >= 0 && isDefault(row.getString(clusterPosition))) {
      row.setField(clusterPosition, cluster);
    }
    if (kindPosition >= 0) {
      row.setField(kindPosition, KINDS[scan.kind]);
    }
    if (valuePosition >= 0) {
      row.setField(valuePosition, value);
    }
    return row;
  }

  private static boolean isDefault(StringData named) {
    return named == null || named.equals(DEFAULT_CLUSTER);
  }

  private static void check(WireScan scan) throws UndecodableException {
    if (!scan.hasApplication) {
      throw new UndecodableException("the fact has no app_id");
    }
    if (scan.kind < 0 || KINDS[scan.kind] == null) {
      throw new UndecodableException("the fact has no kind that this version supports");
    }
    if (scan.kind == Fact.UNDECODABLE_FIELD_NUMBER) {
      throw new UndecodableException(
          "the fact has the kind \"undecodable\", which only readers create");
    }
  }

  private static void checkIds(GenericRowData row, int[] positions) throws UndecodableException {
    if (positions == null || positions.length == 1) {
      return;
    }
    GenericRowData fields = (GenericRowData) row.getField(positions[0]);
    for (int place = 1; place < positions.length; place++) {
      if (fields == null || fields.isNullAt(positions[place])) {
        throw new UndecodableException("the fact has no stage_id or no stage_attempt");
      }
    }
  }

  /** A row that holds only the reason and the record, cut at 64 KiB. */
  RowData undecodable(byte[] value, String reason) {
    GenericRowData row = new GenericRowData(columns.getFieldCount());
    int position = columns.getFieldIndex("undecodable");
    if (position >= 0) {
      RowType detailType = (RowType) columns.getTypeAt(position);
      GenericRowData details = new GenericRowData(detailType.getFieldCount());
      set(details, detailType, Undecodable.PAYLOAD_FIELD_NUMBER, capped(value));
      set(details, detailType, Undecodable.REASON_FIELD_NUMBER, StringData.fromString(reason));
      row.setField(position, details);
    }
    return row;
  }

  private static void set(GenericRowData row, RowType type, int number, Object value) {
    String name = Undecodable.getDescriptor().findFieldByNumber(number).getName();
    int position = type.getFieldIndex(name);
    if (position >= 0) {
      row.setField(position, value);
    }
  }

  private static byte[] capped(byte[] value) {
    if (value == null) {
      return new byte[0];
    }
    return value.length <= PAYLOAD_LIMIT_BYTES ? value : Arrays.copyOf(value, PAYLOAD_LIMIT_BYTES);
  }

  private static StringData[] kinds() {
    List<FieldDescriptor> fields = FACT.getOneofs().get(0).getFields();
    int highest = fields.stream().mapToInt(FieldDescriptor::getNumber).max().orElse(0);
    StringData[] names = new StringData[highest + 1];
    for (FieldDescriptor field : fields) {
      names[field.getNumber()] = StringData.fromString(field.getName());
    }
    return names;
  }

  /** Whether the message has an application and a kind, even if the table declares neither. */
  static final class WireScan {
    boolean hasApplication;
    int kind = -1;

    void observe(int number, boolean empty) {
      if (number == APP_ID) {
        hasApplication = !empty;
      } else if (number < KINDS.length && KINDS[number] != null) {
        kind = number;
      }
    }
  }
}
