package io.sparkfuse.spark.facts;

import com.google.protobuf.Descriptors.FieldDescriptor;
import io.sparkfuse.contracts.Fact;

/**
 * Loads the classes of all kinds of facts before the first event.
 *
 * <p>On a busy host, loading takes seconds, longer than all callbacks of a small job. Without the
 * warm-up, the first event of each kind would include this time, and callbacks would appear slow.
 */
public final class WarmUp {
  private WarmUp() {}

  /** Encodes an empty fact of each kind and discards it. */
  public static void run() {
    FactEncoder encoder = new FactEncoder("warm-up");
    Application application = new Application("", "", "", 0, 0);
    for (FieldDescriptor field : Fact.getDescriptor().getFields()) {
      if (field.getJavaType() == FieldDescriptor.JavaType.MESSAGE) {
        Fact.Builder fact = Fact.newBuilder();
        fact.setField(field, fact.newBuilderForField(field).build());
        encoder.encode(fact, application, Lane.BULK, 0);
      }
    }
  }
}
