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
 * (key, bytes) -> (key, {@link FrameBuffer} of all bytes of the key that came one soon after the
 * other).
 *
 * <p>What PyFlink does for each record costs more than what our steps do for a row, and an
 * application's rows of one window come together. Records of one key keep their order, those of one
 * time only are put together, and nothing is held over a watermark, a checkpoint or {@value
 * #DELAY_MS} ms.
 */
public final class BatchByKey extends AbstractStreamOperator<Row>
    implements OneInputStreamOperator<Row, Row> {
  private static final long serialVersionUID = 1L;

  /** How long a record waits for others at most. */
  static final long DELAY_MS = 10;

  /** Bytes of one key, and of all, above which nothing waits. */
  static final int MOST_OF_KEY = 256 << 10;

  static final int MOST = 8 << 20;

  private transient Map<String, Gathered> gathered;
  private transient StreamRecord<Row> told;
  private transient int bytes;
  private transient boolean awaited;

  @Override
  public void open() throws Exception {
    super.open();
    gathered = new LinkedHashMap<>();
    told = new StreamRecord<>(null);
  }

  @Override
  public void processElement(StreamRecord<Row> element) {
    String key = element.getValue().getFieldAs(0);
    byte[] content = element.getValue().getFieldAs(1);
    Gathered of = gathered.get(key);
    if (of != null && of.timestamp != element.getTimestamp()) {
      tellNow(key);
      of = null;
    }
    if (of == null) {
      of = new Gathered(element.getTimestamp());
      gathered.put(key, of);
    }
    int before = of.parts.size();
    of.parts.add(content);
    bytes += of.parts.size() - before;
    if (bytes >= MOST) {
      tellAll();
    } else if (of.parts.size() >= MOST_OF_KEY) {
      tellNow(key);
    } else {
      await();
    }
  }

  @Override
  public void processWatermark(Watermark mark) throws Exception {
    tellAll();
    super.processWatermark(mark);
  }

  @Override
  public void processWatermarkStatus(WatermarkStatus status) throws Exception {
    tellAll();
    super.processWatermarkStatus(status);
  }

  @Override
  public void prepareSnapshotPreBarrier(long checkpointId) {
    tellAll();
  }

  @Override
  public void finish() throws Exception {
    tellAll();
    super.finish();
  }

  private void await() {
    if (!awaited) {
      awaited = true;
      long at = getProcessingTimeService().getCurrentProcessingTime() + DELAY_MS;
      getProcessingTimeService().registerTimer(at, time -> tellAwaited());
    }
  }

  private void tellAwaited() {
    awaited = false;
    tellAll();
  }

  private void tellAll() {
    gathered.forEach(this::tell);
    gathered.clear();
    bytes = 0;
  }

  private void tellNow(String key) {
    Gathered of = gathered.remove(key);
    bytes -= of.parts.size();
    tell(key, of);
  }

  private void tell(String key, Gathered of) {
    output.collect(told.replace(Row.of(key, of.parts.bytes()), of.timestamp));
  }

  /** What came of one key at one time. */
  private static final class Gathered {
    final long timestamp;
    final FrameBuffer parts = new FrameBuffer();

    Gathered(long timestamp) {
      this.timestamp = timestamp;
    }
  }
}
