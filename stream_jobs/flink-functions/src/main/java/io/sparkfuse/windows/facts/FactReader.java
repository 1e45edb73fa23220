package io.sparkfuse.windows.facts;

import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import io.sparkfuse.contracts.Fact;
import io.sparkfuse.contracts.Undecodable;
import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.StringData;
import org.apache.flink.table.types.logical.RowType;

/** Turns the bytes of a Fact into a row of the declared columns, or says why they are no fact. */
final class FactReader {
  static final int PAYLOAD_LIMIT_BYTES = 64 * 1024;
  private static final Descriptor FACT = Fact.getDescriptor();
  private static final int APP_ID = Fact.APP_ID_FIELD_NUMBER;
  private static final String KIND = "kind";
  private static final String VALUE = "value";
  private static final StringData[] KINDS = kinds();

  private final RowType columns;
  private final MessageReader message;
  private final int kindPosition;
  private final int valuePosition;

  FactReader(RowType columns) {
    this.columns = columns;
    this.message = new MessageReader(FACT, columns, Set.of(KIND, VALUE));
    this.kindPosition = columns.getFieldIndex(KIND);
    this.valuePosition = columns.getFieldIndex(VALUE);
  }

  /** Refuses, when the query is planned, a column that a Fact does not have or has otherwise. */
  static void check(RowType columns) {
    new FactReader(columns);
  }

  RowData read(byte[] value) throws UndecodableException {
    if (value == null || value.length == 0) {
      throw new UndecodableException("the record is empty");
    }
    GenericRowData row;
    WireScan scan = new WireScan();
    try {
      row = message.read(value, scan);
    } catch (IOException notProtobuf) {
      throw new UndecodableException("the record is no Protobuf message of a fact");
    }
    check(scan);
    if (kindPosition >= 0) {
      row.setField(kindPosition, KINDS[scan.kind]);
    }
    if (valuePosition >= 0) {
      row.setField(valuePosition, value);
    }
    return row;
  }

  private static void check(WireScan scan) throws UndecodableException {
    if (!scan.hasApplication) {
      throw new UndecodableException("the fact has no app_id");
    }
    if (scan.kind < 0 || KINDS[scan.kind] == null) {
      throw new UndecodableException("the fact has no kind that this version knows");
    }
    if (scan.kind == Fact.UNDECODABLE_FIELD_NUMBER) {
      throw new UndecodableException("the fact is of the kind that only readers make");
    }
  }

  RowData undecodable(byte[] value, String reason) {
    GenericRowData row = new GenericRowData(columns.getFieldCount());
    int position = columns.getFieldIndex("undecodable");
    if (position >= 0) {
      RowType parts = (RowType) columns.getTypeAt(position);
      GenericRowData told = new GenericRowData(parts.getFieldCount());
      set(told, parts, Undecodable.PAYLOAD_FIELD_NUMBER, capped(value));
      set(told, parts, Undecodable.REASON_FIELD_NUMBER, StringData.fromString(reason));
      row.setField(position, told);
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

  /** What the reader notices of the envelope while it reads, whether it is declared or not. */
  static final class WireScan {
    boolean hasApplication;
    int kind = -1;

    void see(int number, boolean empty) {
      if (number == APP_ID) {
        hasApplication = !empty;
      } else if (number < KINDS.length && KINDS[number] != null) {
        kind = number;
      }
    }
  }
}
