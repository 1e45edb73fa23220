package io.sparkfuse.windows.facts;

import java.util.Set;
import org.apache.flink.api.common.serialization.DeserializationSchema;
import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.configuration.ConfigOptions;
import org.apache.flink.configuration.ReadableConfig;
import org.apache.flink.table.connector.ChangelogMode;
import org.apache.flink.table.connector.format.DecodingFormat;
import org.apache.flink.table.connector.source.DynamicTableSource;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.factories.DeserializationFormatFactory;
import org.apache.flink.table.factories.DynamicTableFactory;
import org.apache.flink.table.factories.FactoryUtil;
import org.apache.flink.table.types.DataType;
import org.apache.flink.table.types.logical.RowType;

/**
 * Format {@code sparkfuse-fact}: decodes facts and never fails on a record.
 *
 * <p>A table declares the columns of a Fact that it uses, at any depth; other columns are not
 * converted. A table can also declare {@code kind} STRING, the name of the fact's kind, and {@code
 * value} BYTES, the undecoded record. For a record that is not a fact, only {@code undecodable} is
 * set.
 *
 * <p>The option {@code cluster} replaces the default name of a cluster, so that applications of
 * different sources that configure no name do not share one.
 */
public final class FactFormatFactory implements DeserializationFormatFactory {
  private static final ConfigOption<String> CLUSTER =
      ConfigOptions.key("cluster").stringType().defaultValue("");

  @Override
  public DecodingFormat<DeserializationSchema<RowData>> createDecodingFormat(
      DynamicTableFactory.Context context, ReadableConfig options) {
    FactoryUtil.validateFactoryOptions(this, options);
    return new FactFormat(options.get(CLUSTER));
  }

  @Override
  public String factoryIdentifier() {
    return "sparkfuse-fact";
  }

  @Override
  public Set<ConfigOption<?>> requiredOptions() {
    return Set.of();
  }

  @Override
  public Set<ConfigOption<?>> optionalOptions() {
    return Set.of(CLUSTER);
  }

  private record FactFormat(String cluster)
      implements DecodingFormat<DeserializationSchema<RowData>> {
    @Override
    public DeserializationSchema<RowData> createRuntimeDecoder(
        DynamicTableSource.Context context, DataType columns) {
      RowType row = (RowType) columns.getLogicalType();
      FactReader.check(row);
      return new FactDeserializer(row, cluster, context.createTypeInformation(columns));
    }

    @Override
    public ChangelogMode getChangelogMode() {
      return ChangelogMode.insertOnly();
    }
  }
}
