package io.sparkfuse.windows.facts;

import io.sparkfuse.metrics.StepMetrics;
import org.apache.flink.api.common.serialization.DeserializationSchema;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.metrics.Counter;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.types.logical.RowType;

/** Calls {@link FactReader} for each Kafka record and counts the records that are not facts. */
final class FactDeserializer implements DeserializationSchema<RowData> {
  private static final long serialVersionUID = 1L;

  private final RowType columns;
  private final String cluster;
  private final TypeInformation<RowData> produced;
  private transient FactReader reader;
  private transient Counter read;
  private transient Counter undecodable;

  FactDeserializer(RowType columns, String cluster, TypeInformation<RowData> produced) {
    this.columns = columns;
    this.cluster = cluster;
    this.produced = produced;
  }

  @Override
  public void open(InitializationContext context) {
    reader = new FactReader(columns, cluster);
    StepMetrics metrics =
        new StepMetrics(context.getMetricGroup(), "component", "windows", "topic", "facts");
    read = metrics.counter("records_read_total");
    undecodable = metrics.counter("dead_letters_total");
    FactParser.countMalformed(undecodable);
  }

  @Override
  public RowData deserialize(byte[] value) {
    read.inc();
    try {
      return reader.read(value);
    } catch (UndecodableException notAFact) {
      undecodable.inc();
      return reader.undecodable(value, notAFact.getMessage());
    }
  }

  @Override
  public boolean isEndOfStream(RowData next) {
    return false;
  }

  @Override
  public TypeInformation<RowData> getProducedType() {
    return produced;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof FactDeserializer that
        && columns.equals(that.columns)
        && cluster.equals(that.cluster);
  }

  @Override
  public int hashCode() {
    return columns.hashCode();
  }
}
