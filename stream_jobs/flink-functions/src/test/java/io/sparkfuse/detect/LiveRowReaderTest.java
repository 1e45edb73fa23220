package io.sparkfuse.detect;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sparkfuse.contracts.AppLive;
import io.sparkfuse.contracts.ExecutorLive;
import io.sparkfuse.contracts.ExecutorLoss;
import io.sparkfuse.contracts.FailureLive;
import io.sparkfuse.contracts.HostLive;
import io.sparkfuse.contracts.JobLive;
import io.sparkfuse.contracts.LiveRow;
import io.sparkfuse.contracts.StageEnded;
import io.sparkfuse.contracts.StageLive;
import io.sparkfuse.contracts.StreamingLive;
import io.sparkfuse.contracts.TaskLive;
import io.sparkfuse.contracts.Tick;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.types.logical.RowType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

class LiveRowReaderTest {
  private static final long AT = 1_795_226_400_000L;
  private final LiveRowReader reader = new LiveRowReader();

  private static LiveRow.Builder row() {
    return LiveRow.newBuilder()
        .setView("some")
        .setCluster("prod")
        .setAppId("app-1")
        .setAppStartMs(7)
        .setWindowEndMs(AT);
  }

  private static String text(RowData row, String column) {
    int position = LiveRowReader.COLUMNS.getFieldIndex(column);
    return row.isNullAt(position) ? null : row.getString(position).toString();
  }

  private static RowData nested(RowData row, String column) {
    int position = LiveRowReader.COLUMNS.getFieldIndex(column);
    return row.isNullAt(position) ? null : row.getRow(position, nestedType(column).getFieldCount());
  }

  private static RowType nestedType(String column) {
    return (RowType) LiveRowReader.COLUMNS.getTypeAt(LiveRowReader.COLUMNS.getFieldIndex(column));
  }

  static Stream<Arguments> rowsWithSubjects() {
    TaskLive.Builder task = TaskLive.newBuilder().setStageId(3).setTaskId(77);
    return Stream.of(
        Arguments.of(
            row().setStage(StageLive.newBuilder().setStageId(3).setStageAttempt(1)), "stage/3/1"),
        Arguments.of(row().setTask(task), "task/3/0/77"),
        Arguments.of(row().setTask(task.clone().setOutlivedMs(0)), "zombie/3/0/77"),
        Arguments.of(row().setFailure(FailureLive.newBuilder().setStageId(3)), "failure/3/0"),
        Arguments.of(row().setExecutor(ExecutorLive.newBuilder().setExecutorId("2")), "executor/2"),
        Arguments.of(row().setExecutorLoss(ExecutorLoss.newBuilder().setExecutorId("2")), "loss/2"),
        Arguments.of(row().setJob(JobLive.newBuilder().setJobId(4)), "jobs"),
        Arguments.of(row().setApplication(AppLive.getDefaultInstance()), "application"),
        Arguments.of(row().setHost(HostLive.newBuilder().setHost("node-7")), "host/prod"),
        Arguments.of(
            row().setStreaming(StreamingLive.newBuilder().setStreamingId("6c7b")),
            "streaming/6c7b"),
        Arguments.of(row().setStageEnded(StageEnded.newBuilder().setStageId(3)), null));
  }

  @ParameterizedTest
  @MethodSource("rowsWithSubjects")
  void namesSubjectsAsTheLifecycleDoes(LiveRow.Builder row, String subject) {
    RowData read = reader.read(row.build().toByteArray());

    assertEquals(subject, text(read, "subject"));
    assertEquals("prod\u001fapp-1\u001f7\u001f0", text(read, "app_key"));
    assertEquals(row.getRowCase().name().toLowerCase(), text(read, "kind"));
  }

  @Test
  void absentColumnIsNullAndZeroIsZero() {
    RowData read =
        reader.read(row().setTask(TaskLive.newBuilder().setStalledMs(0)).build().toByteArray());
    RowData task = nested(read, "task");

    assertNull(nested(read, "stage"));
    assertEquals(0, task.getLong(nestedType("task").getFieldIndex("stalled_ms")));
    assertTrue(task.isNullAt(nestedType("task").getFieldIndex("activity")));
    assertNull(text(read, "job_key"));
  }

  static Stream<Arguments> unusable() {
    byte[] whole = row().setTick(Tick.newBuilder().setSentMs(AT)).build().toByteArray();
    LiveRow.Builder tick = row().setTick(Tick.getDefaultInstance());
    return Stream.of(
        Arguments.of("nothing", null),
        Arguments.of("empty", new byte[0]),
        Arguments.of("junk", "\u00ff\u00ffno row at all".getBytes(StandardCharsets.ISO_8859_1)),
        Arguments.of("cut off", Arrays.copyOf(whole, whole.length - 1)),
        Arguments.of("no thing", row().build().toByteArray()),
        Arguments.of("no application", tick.clone().clearAppId().build().toByteArray()),
        Arguments.of("empty application", tick.clone().setAppId("").build().toByteArray()),
        Arguments.of("no window", tick.clone().clearWindowEndMs().build().toByteArray()));
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("unusable")
  void unusableRecordIsAnEmptyRow(String name, byte[] value) {
    RowData read = reader.read(value);

    assertEquals("", text(read, "app_key"));
    assertNull(text(read, "kind"));
    assertNull(text(read, "view"));
  }

  static Stream<Arguments> ends() {
    byte[] tick = row().setTick(Tick.getDefaultInstance()).build().toByteArray();
    return Stream.of(
        Arguments.of("present", tick, AT),
        Arguments.of("nothing", null, 0L),
        Arguments.of("junk", new byte[] {(byte) 0xff, (byte) 0xff, 1}, 0L),
        Arguments.of("cut off", Arrays.copyOf(tick, tick.length - 1), 0L),
        Arguments.of("no time", row().clearWindowEndMs().build().toByteArray(), 0L),
        Arguments.of("before time", row().setWindowEndMs(-1).build().toByteArray(), 0L),
        Arguments.of(
            "beyond SQL's range", row().setWindowEndMs(Long.MAX_VALUE).build().toByteArray(), 0L));
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("ends")
  void decodesWindowEndFromBytes(String name, byte[] value, long expected) {
    assertEquals(expected, new DecodeWindowEnd().eval(value, ""));
  }

  /** A row has an end only for the job of its source; what is not a row belongs to the home. */
  @Test
  void rowOfAnotherSourceHasNoWindowEnd() {
    byte[] home = row().setTick(Tick.getDefaultInstance()).build().toByteArray();
    byte[] eu = row().setSource("eu").setTick(Tick.getDefaultInstance()).build().toByteArray();
    byte[] junk = {(byte) 0xff, (byte) 0xff, 1};
    DecodeWindowEnd decode = new DecodeWindowEnd();
    long other = DecodeWindowEnd.OTHER_SOURCE;

    assertEquals(
        List.of(AT, other, 0L),
        Stream.of(home, eu, junk).map(each -> decode.eval(each, "")).toList());
    assertEquals(
        List.of(other, AT, other),
        Stream.of(home, eu, junk).map(each -> decode.eval(each, "eu")).toList());
    assertEquals(
        List.of(other, other, other),
        Stream.of(home, eu, junk).map(each -> decode.eval(each, "us")).toList());
    assertEquals(other, decode.eval(null, "eu"));
  }

  @Test
  void rowsAreIndependent() {
    reader.read(row().setTask(TaskLive.newBuilder().setStalledMs(5)).build().toByteArray());
    RowData read = reader.read(row().setTask(TaskLive.newBuilder()).build().toByteArray());

    assertFalse(read.isNullAt(LiveRowReader.COLUMNS.getFieldIndex("task")));
    assertTrue(nested(read, "task").isNullAt(nestedType("task").getFieldIndex("stalled_ms")));
  }
}
