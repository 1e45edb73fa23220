package io.sparkfuse.windows.facts;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sparkfuse.contracts.ApplicationStarted;
import io.sparkfuse.contracts.Fact;
import io.sparkfuse.contracts.StageStarted;
import io.sparkfuse.contracts.TaskEnded;
import io.sparkfuse.contracts.Tick;
import java.util.Arrays;
import java.util.Random;
import org.apache.flink.table.api.DataTypes;
import org.apache.flink.table.api.ValidationException;
import org.apache.flink.table.data.ArrayData;
import org.apache.flink.table.data.MapData;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.StringData;
import org.apache.flink.table.types.DataType;
import org.apache.flink.table.types.logical.RowType;
import org.junit.jupiter.api.Test;

class FactReaderTest {
  private static final DataType TEXTS = DataTypes.ARRAY(DataTypes.STRING());
  private static final RowType COLUMNS =
      row(
          DataTypes.FIELD("app_id", DataTypes.STRING()),
          DataTypes.FIELD("seq", DataTypes.BIGINT()),
          DataTypes.FIELD("kind", DataTypes.STRING()),
          DataTypes.FIELD("value", DataTypes.BYTES()),
          DataTypes.FIELD(
              "application_started",
              DataTypes.ROW(
                  DataTypes.FIELD(
                      "properties", DataTypes.MAP(DataTypes.STRING(), DataTypes.STRING())))),
          DataTypes.FIELD(
              "stage_started",
              DataTypes.ROW(
                  DataTypes.FIELD("parent_stage_ids", DataTypes.ARRAY(DataTypes.INT())),
                  DataTypes.FIELD("scope_names", TEXTS))),
          DataTypes.FIELD(
              "task_ended",
              DataTypes.ROW(
                  DataTypes.FIELD("cpu_ns", DataTypes.BIGINT()),
                  DataTypes.FIELD("speculative", DataTypes.BOOLEAN()),
                  DataTypes.FIELD("task_index", DataTypes.INT()))),
          DataTypes.FIELD(
              "undecodable",
              DataTypes.ROW(
                  DataTypes.FIELD("reason", DataTypes.STRING()),
                  DataTypes.FIELD("payload", DataTypes.BYTES()))));

  private final FactReader reader = new FactReader(COLUMNS);

  private static RowType row(DataTypes.Field... fields) {
    return (RowType) DataTypes.ROW(fields).getLogicalType();
  }

  private static Fact.Builder fact() {
    return Fact.newBuilder().setAppId("app-1").setSeq(7);
  }

  /** Declared columns are decoded at any depth; absent fields are NULL, not 0. */
  @Test
  void decodesDeclaredColumnsAbsentAsNull() throws Exception {
    byte[] value =
        fact()
            .setTaskEnded(TaskEnded.newBuilder().setCpuNs(-5).setGcMs(3).setTaskIndex(0))
            .build()
            .toByteArray();

    RowData row = reader.read(value);

    assertEquals("app-1", row.getString(0).toString());
    assertEquals(7, row.getLong(1));
    assertEquals("task_ended", row.getString(2).toString());
    assertArrayEquals(value, row.getBinary(3));
    assertTrue(row.isNullAt(4) && row.isNullAt(5) && row.isNullAt(7));
    RowData ended = row.getRow(6, 3);
    assertEquals(-5, ended.getLong(0));
    assertTrue(ended.isNullAt(1));
    assertEquals(0, ended.getInt(2));
  }

  /** The source's name replaces an absent or default name of a cluster, and no other name. */
  @Test
  void clusterOfSourceReplacesTheDefault() throws Exception {
    RowType columns =
        row(
            DataTypes.FIELD("app_id", DataTypes.STRING()),
            DataTypes.FIELD("cluster", DataTypes.STRING()));
    FactReader ofSource = new FactReader(columns, "eu");
    Fact.Builder tick = fact().setTick(Tick.getDefaultInstance());

    assertEquals("eu", cluster(ofSource, tick));
    assertEquals("eu", cluster(ofSource, tick.clone().setCluster("default")));
    assertEquals("yarn-1", cluster(ofSource, tick.clone().setCluster("yarn-1")));
    assertEquals("default", cluster(new FactReader(columns), tick.clone().setCluster("default")));
    assertTrue(new FactReader(columns).read(tick.build().toByteArray()).isNullAt(1));
  }

  private static String cluster(FactReader reader, Fact.Builder fact) throws Exception {
    return reader.read(fact.build().toByteArray()).getString(1).toString();
  }

  /** Lists, packed or not, and maps are decoded completely. */
  @Test
  void decodesListsAndMaps() throws Exception {
    StageStarted stage =
        StageStarted.newBuilder()
            .addParentStageIds(4)
            .addParentStageIds(300)
            .addScopeNames("Scan")
            .addScopeNames("Sört")
            .build();
    RowData started = reader.read(fact().setStageStarted(stage).build().toByteArray()).getRow(5, 2);
    RowData application =
        reader
            .read(
                fact()
                    .setApplicationStarted(
                        ApplicationStarted.newBuilder()
                            .putProperties("a", "1")
                            .putProperties("b", "2"))
                    .build()
                    .toByteArray())
            .getRow(4, 1);

    ArrayData parents = started.getArray(0);
    assertArrayEquals(new int[] {4, 300}, parents.toIntArray());
    assertEquals("Sört", started.getArray(1).getString(1).toString());
    MapData properties = application.getMap(0);
    assertEquals(2, properties.size());
    assertEquals(StringData.fromString("b"), properties.keyArray().getString(1));
  }

  /**
   * Each kind of invalid record has its own reason; the row of the record contains the reason and a
   * truncated payload.
   */
  @Test
  void givesTheReasonForEachInvalidRecord() throws Exception {
    assertReason("the record is empty", null);
    assertReason("the record is empty", new byte[0]);
    assertReason("the record is not a Protobuf message of a fact", "{\"a\": 1}".getBytes("UTF-8"));
    assertReason(
        "the fact has no app_id",
        Fact.newBuilder().setTick(Tick.getDefaultInstance()).build().toByteArray());
    assertReason(
        "the fact has no app_id",
        fact().setAppId("").setTick(Tick.getDefaultInstance()).build().toByteArray());
    assertReason("the fact has no kind that this version supports", fact().build().toByteArray());

    byte[] long_ = new byte[FactReader.PAYLOAD_LIMIT_BYTES + 1];
    RowData row = reader.undecodable(long_, "why");
    assertEquals(FactReader.PAYLOAD_LIMIT_BYTES, row.getRow(7, 2).getBinary(1).length);
    assertEquals("why", row.getRow(7, 2).getString(0).toString());
    assertTrue(row.isNullAt(0) && row.isNullAt(2) && row.isNullAt(6));
  }

  /**
   * If any bytes of a fact are removed or changed, the result is a row or a reason, never an error.
   */
  @Test
  void damagedRecordsRaiseNoError() throws Exception {
    byte[] whole =
        fact()
            .setStageStarted(
                StageStarted.newBuilder().addParentStageIds(1).addScopeNames("x").setName("n"))
            .build()
            .toByteArray();
    Random random = new Random(7);
    for (int round = 0; round < 20_000; round++) {
      byte[] damaged = Arrays.copyOf(whole, random.nextInt(whole.length + 1));
      for (int change = random.nextInt(4); change > 0 && damaged.length > 0; change--) {
        damaged[random.nextInt(damaged.length)] = (byte) random.nextInt(256);
      }
      try {
        assertFalse(reader.read(damaged).isNullAt(2));
      } catch (UndecodableException reason) {
        assertFalse(reason.getMessage().isEmpty());
      }
    }
  }

  /** Planning rejects a column that facts do not have, or have with another type. */
  @Test
  void rejectsUnknownColumns() {
    RowType unknown = row(DataTypes.FIELD("app_idd", DataTypes.STRING()));
    RowType otherwise = row(DataTypes.FIELD("app_id", DataTypes.BIGINT()));

    assertThrows(ValidationException.class, () -> FactReader.check(unknown));
    assertThrows(ValidationException.class, () -> FactReader.check(otherwise));
  }

  private void assertReason(String reason, byte[] value) {
    UndecodableException thrown =
        assertThrows(UndecodableException.class, () -> reader.read(value));
    assertEquals(reason, thrown.getMessage());
  }
}
