package io.sparkfuse.spark.facts;

import com.google.protobuf.Descriptors.FieldDescriptor;
import io.sparkfuse.contracts.Fact;

/**
 * Loads the classes of all kinds of facts before the first event comes.
 *
 * <p>Loading them costs seconds of wall time on a busy machine, more than all callbacks of a small
 * job; without this the first event of each kind would pay it, and the callbacks' times would say
 * that the collector is slow.
 */
public final class WarmUp {
  private WarmUp() {}

  /** Makes a record of an empty fact of each kind and throws it away. */
  public static void run() {
    FactEncoder encoder = new FactEncoder("warm-up");
    Application nobody = new Application("", "", "", 0, 0);
    for (FieldDescriptor field : Fact.getDescriptor().getFields()) {
      if (field.getJavaType() == FieldDescriptor.JavaType.MESSAGE) {
        Fact.Builder fact = Fact.newBuilder();
        fact.setField(field, fact.newBuilderForField(field).build());
        encoder.encode(fact, nobody, Lane.BULK, 0);
      }
    }
  }
}
