package io.sparkfuse.spark.facts;

import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Descriptors.FieldDescriptor.JavaType;
import com.google.protobuf.Message;
import io.sparkfuse.contracts.Fact;
import java.util.List;
import java.util.Map;

/**
 * Enforces the maximum size of a record: shortens all lists and texts of a record until it fits.
 *
 * <p>Parallel lists (nodes and their parents, accumulators and their values) keep the same length.
 * The envelope is never shortened.
 */
final class FactTruncator {
  /** Maximum size of a record in bytes. */
  static final int MAX_BYTES = 256 * 1_024;

  private static final int MAX_ELEMENTS = 8_192;
  private static final int MAX_CHARS = 16_384;

  private FactTruncator() {}

  /** Returns the fact, shortened to {@link #MAX_BYTES}. */
  static Fact cut(Fact fact) {
    Fact cut = fact;
    for (int shrink = 1; cut.getSerializedSize() > MAX_BYTES && shrink <= MAX_CHARS; shrink *= 2) {
      cut = cut(fact, Math.max(1, MAX_ELEMENTS / shrink), Math.max(1, MAX_CHARS / shrink));
    }
    return cut;
  }

  private static Fact cut(Fact fact, int elements, int chars) {
    Fact.Builder cut = fact.toBuilder();
    for (Map.Entry<FieldDescriptor, Object> field : fact.getAllFields().entrySet()) {
      if (field.getKey().getContainingOneof() != null && field.getValue() instanceof Message) {
        cut.setField(field.getKey(), cutMessage((Message) field.getValue(), elements, chars));
      }
    }
    return cut.build();
  }

  private static Message cutMessage(Message message, int elements, int chars) {
    Message.Builder cut = message.toBuilder();
    for (Map.Entry<FieldDescriptor, Object> field : message.getAllFields().entrySet()) {
      FieldDescriptor key = field.getKey();
      if (key.isRepeated()) {
        cut.clearField(key);
        List<?> all = (List<?>) field.getValue();
        for (Object each : all.subList(0, Math.min(all.size(), elements))) {
          cut.addRepeatedField(key, cutValue(key, each, elements, chars));
        }
      } else {
        cut.setField(key, cutValue(key, field.getValue(), elements, chars));
      }
    }
    return cut.build();
  }

  private static Object cutValue(FieldDescriptor key, Object value, int elements, int chars) {
    if (key.getJavaType() == JavaType.STRING) {
      String text = (String) value;
      return text.length() <= chars ? text : text.substring(0, wholeCharacters(text, chars));
    }
    if (key.getJavaType() == JavaType.MESSAGE) {
      return cutMessage((Message) value, elements, chars);
    }
    return value;
  }

  /** Returns an index that does not split a surrogate pair. */
  private static int wholeCharacters(String text, int end) {
    return Character.isHighSurrogate(text.charAt(end - 1)) ? end - 1 : end;
  }
}
