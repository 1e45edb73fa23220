package io.sparkfuse.windows.rows;

import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Message;
import java.util.Map;

/** Copies what two messages of the contract call alike. */
public final class CommonFields {
  private CommonFields() {}

  /**
   * Sets in {@code to} every field of the same name and type that {@code from} has; absent stays
   * absent.
   */
  public static void copy(Message from, Message.Builder to) {
    for (Map.Entry<FieldDescriptor, Object> entry : from.getAllFields().entrySet()) {
      FieldDescriptor source = entry.getKey();
      FieldDescriptor target = to.getDescriptorForType().findFieldByName(source.getName());
      if (target != null && target.getType() == source.getType() && !target.isRepeated()) {
        to.setField(target, entry.getValue());
      }
    }
  }
}
