package io.sparkfuse.detect;

import org.apache.flink.table.api.DataTypes;
import org.apache.flink.table.catalog.DataTypeFactory;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.functions.FunctionContext;
import org.apache.flink.table.functions.TableFunction;
import org.apache.flink.table.types.inference.InputTypeStrategies;
import org.apache.flink.table.types.inference.TypeInference;
import org.apache.flink.table.types.inference.TypeStrategies;
import org.apache.flink.table.types.utils.DataTypeUtils;

/**
 * {@code LATERAL TABLE(decode_live_row(value))}: the columns of an encoded LiveRow, as returned by
 * {@link LiveRowReader}. The result is exactly one row, for any bytes.
 *
 * <p>This is a table function because Flink calls a scalar function that returns a ROW once for
 * each column.
 */
public final class DecodeLiveRow extends TableFunction<RowData> {
  private static final long serialVersionUID = 1L;
  private transient LiveRowReader reader;

  @Override
  public void open(FunctionContext context) {
    reader = new LiveRowReader();
  }

  public void eval(byte[] value) {
    collect(reader.read(value));
  }

  @Override
  public TypeInference getTypeInference(DataTypeFactory typeFactory) {
    return TypeInference.newBuilder()
        .inputTypeStrategy(
            InputTypeStrategies.sequence(InputTypeStrategies.explicit(DataTypes.BYTES())))
        .outputTypeStrategy(
            TypeStrategies.explicit(DataTypeUtils.toInternalDataType(LiveRowReader.COLUMNS)))
        .build();
  }
}
