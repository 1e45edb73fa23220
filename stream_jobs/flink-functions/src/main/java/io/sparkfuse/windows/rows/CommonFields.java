package io.sparkfuse.windows.rows;

import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Message;
import java.util.Map;

/** Copies the fields that two messages of the contract have in common. */
public final class CommonFields {
  private CommonFields() {}

  /**
   * Copies every field that is set in {@code from} and has the same name and type in {@code to}.
   * Repeated fields are not copied.
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
