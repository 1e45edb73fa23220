import java.io.Serializable;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.connector.read.streaming.ReadMaxRows;
import org.apache.spark.sql.connector.read.streaming.ReportsSourceMetrics;
import org.apache.spark.sql.connector.read.streaming.SupportsAdmissionControl;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * A streaming source whose rows arrive at a given rate, and that reports its lag under the name that
 * Spark's Kafka source uses. None of the sources of spark-sql reports a lag.
 *
 * <p>Options: {@code rate} in rows per second, {@code limit} in rows of a batch, and {@code burst} in
 * rows per second between the seconds {@code burstFrom} and {@code burstTo}.
 */
public final class LagSource implements TableProvider {
  private static final StructType SCHEMA = new StructType().add("value", "bigint");

  @Override
  public StructType inferSchema(CaseInsensitiveStringMap options) {
    return SCHEMA;
  }

  @Override
  public Table getTable(StructType schema, Transform[] partitioning, Map<String, String> properties) {
    return new Rows();
  }

  private static final class Rows implements Table, SupportsRead {
    @Override
    public String name() {
      return "LagSource";
    }

    @Override
    public StructType schema() {
      return SCHEMA;
    }

    @Override
    public Set<TableCapability> capabilities() {
      return Set.of(TableCapability.MICRO_BATCH_READ);
    }

    @Override
    public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
      return () ->
          new Scan() {
            @Override
            public StructType readSchema() {
              return SCHEMA;
            }

            @Override
            public MicroBatchStream toMicroBatchStream(String checkpoint) {
              return new Stream(options);
            }
          };
    }
  }

  private static final class Stream
      implements MicroBatchStream, SupportsAdmissionControl, ReportsSourceMetrics {
    private final long startedMs = System.currentTimeMillis();
    private final CaseInsensitiveStringMap options;

    Stream(CaseInsensitiveStringMap options) {
      this.options = options;
    }

    private long arrived() {
      double seconds = (System.currentTimeMillis() - startedMs) / 1000.0;
      double from = options.getDouble("burstFrom", 0);
      double burst = Math.max(0, Math.min(seconds, options.getDouble("burstTo", 0)) - from);
      return (long) (seconds * options.getDouble("rate", 1) + burst * options.getDouble("burst", 0));
    }

    @Override
    public Offset initialOffset() {
      return new Count(0);
    }

    @Override
    public Offset latestOffset() {
      throw new UnsupportedOperationException("a limit is given");
    }

    @Override
    public Offset latestOffset(Offset start, ReadLimit limit) {
      long most = limit instanceof ReadMaxRows ? ((ReadMaxRows) limit).maxRows() : Long.MAX_VALUE;
      return new Count(((Count) start).rows + Math.min(most, arrived() - ((Count) start).rows));
    }

    @Override
    public Offset reportLatestOffset() {
      return new Count(arrived());
    }

    @Override
    public ReadLimit getDefaultReadLimit() {
      return ReadLimit.maxRows(options.getLong("limit", Long.MAX_VALUE));
    }

    @Override
    public Map<String, String> metrics(Optional<Offset> consumed) {
      long behind = arrived() - consumed.map(offset -> ((Count) offset).rows).orElse(0L);
      return Map.of("maxOffsetsBehindLatest", Long.toString(behind));
    }

    @Override
    public Offset deserializeOffset(String json) {
      return new Count(Long.parseLong(json));
    }

    @Override
    public InputPartition[] planInputPartitions(Offset start, Offset end) {
      return new InputPartition[] {new Range(((Count) start).rows, ((Count) end).rows)};
    }

    @Override
    public PartitionReaderFactory createReaderFactory() {
      return new Factory();
    }

    @Override
    public void commit(Offset end) {}

    @Override
    public void stop() {}
  }

  private static final class Count extends Offset {
    final long rows;

    Count(long rows) {
      this.rows = rows;
    }

    @Override
    public String json() {
      return Long.toString(rows);
    }
  }

  private static final class Range implements InputPartition {
    final long from;
    final long to;

    Range(long from, long to) {
      this.from = from;
      this.to = to;
    }
  }

  private static final class Factory implements PartitionReaderFactory, Serializable {
    @Override
    public PartitionReader<InternalRow> createReader(InputPartition partition) {
      Range range = (Range) partition;
      return new PartitionReader<InternalRow>() {
        private long at = range.from - 1;

        @Override
        public boolean next() {
          return ++at < range.to;
        }

        @Override
        public InternalRow get() {
          return new GenericInternalRow(new Object[] {at});
        }

        @Override
        public void close() {}
      };
    }
  }
}
