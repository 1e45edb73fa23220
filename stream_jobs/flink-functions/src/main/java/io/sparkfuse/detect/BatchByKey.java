package io.sparkfuse.detect;

import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.flink.streaming.api.operators.AbstractStreamOperator;
import org.apache.flink.streaming.api.operators.OneInputStreamOperator;
import org.apache.flink.streaming.api.watermark.Watermark;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;
import org.apache.flink.streaming.runtime.watermarkstatus.WatermarkStatus;
import org.apache.flink.types.Row;

/**
 * Converts (key, bytes) to (key, {@link FrameBuffer} of all bytes of the key that arrive within a
 * short time).
 *
 * <p>PyFlink's overhead for a record exceeds the cost of evaluating a row. An application's rows of
 * one window arrive together, so they become one record. Records of one key keep their order, and
 * only records with the same timestamp are joined. A record waits for at most {@value #DELAY_MS}
 * ms, and never longer than until the next watermark or checkpoint.
 */
public final class BatchByKey extends AbstractStreamOperator<Row>
    implements OneInputStreamOperator<Row, Row> {
  private static final long serialVersionUID = 1L;

  /** Longest time for which a record waits for others. [ms] */
  static final long DELAY_MS = 10;

  /**
   * Limits of the waiting bytes of one key and of all keys; at a limit, the records are emitted.
   */
  static final int MAX_KEY_BYTES = 256 << 10;

  static final int MAX_BYTES = 8 << 20;

  private transient Map<String, Batch> batches;
  private transient StreamRecord<Row> outputRecord;
  private transient int bytes;
  private transient boolean timerSet;

  @Override
  public void open() throws Exception {
    super.open();
    batches = new LinkedHashMap<>();
    outputRecord = new StreamRecord<>(null);
  }

  @Override
  public void processElement(StreamRecord<Row> element) {
    String key = element.getValue().getFieldAs(0);
    byte[] content = element.getValue().getFieldAs(1);
    Batch batch = batches.get(key);
    if (batch != null && batch.timestamp != element.getTimestamp()) {
      emitKey(key);
      batch = null;
    }
    if (batch == null) {
      batch = new Batch(element.getTimestamp());
      batches.put(key, batch);
    }
    int before = batch.frames.size();
    batch.frames.add(content);
    bytes += batch.frames.size() - before;
    if (bytes >= MAX_BYTES) {
      emitAll();
    } else if (batch.frames.size() >= MAX_KEY_BYTES) {
      emitKey(key);
    } else {
      setTimer();
    }
  }

  @Override
  public void processWatermark(Watermark mark) throws Exception {
    emitAll();
    super.processWatermark(mark);
  }

  @Override
  public void processWatermarkStatus(WatermarkStatus status) throws Exception {
    emitAll();
    super.processWatermarkStatus(status);
  }

  @Override
  public void prepareSnapshotPreBarrier(long checkpointId) {
    emitAll();
  }

  @Override
  public void finish() throws Exception {
    emitAll();
    super.finish();
  }

  private void setTimer() {
    if (!timerSet) {
      timerSet = true;
      long at = getProcessingTimeService().getCurrentProcessingTime() + DELAY_MS;
      getProcessingTimeService().registerTimer(at, time -> emitOnTimer());
    }
  }

  private void emitOnTimer() {
    timerSet = false;
    emitAll();
  }

  private void emitAll() {
    batches.forEach(this::emit);
    batches.clear();
    bytes = 0;
  }

  private void emitKey(String key) {
    Batch batch = batches.remove(key);
    bytes -= batch.frames.size();
    emit(key, batch);
  }

  private void emit(String key, Batch batch) {
    output.collect(outputRecord.replace(Row.of(key, batch.frames.bytes()), batch.timestamp));
  }

  /** Records of one key with the same timestamp. */
  private static final class Batch {
    final long timestamp;
    final FrameBuffer frames = new FrameBuffer();

    Batch(long timestamp) {
      this.timestamp = timestamp;
    }
  }
}
