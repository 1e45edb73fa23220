package io.sparkfuse.windows.aggregates;

import java.io.IOException;
import org.apache.flink.api.common.typeutils.base.TypeSerializerSingleton;
import org.apache.flink.core.memory.DataInputView;
import org.apache.flink.core.memory.DataOutputView;

/** Serializer that writes the length of an accumulator's encoding, then the encoding. */
abstract class EncodedSerializer<T> extends TypeSerializerSingleton<T> {
  private static final long serialVersionUID = 1L;

  abstract byte[] encode(T value);

  abstract T decode(byte[] encoded) throws IOException;

  @Override
  public boolean isImmutableType() {
    return false;
  }

  @Override
  public T copy(T from) {
    try {
      return decode(encode(from));
    } catch (IOException impossible) {
      throw new IllegalStateException(impossible);
    }
  }

  @Override
  public T copy(T from, T reuse) {
    return copy(from);
  }

  @Override
  public int getLength() {
    return -1;
  }

  @Override
  public void serialize(T value, DataOutputView target) throws IOException {
    byte[] encoded = encode(value);
    target.writeInt(encoded.length);
    target.write(encoded);
  }

  @Override
  public T deserialize(DataInputView source) throws IOException {
    return decode(readEncoded(source));
  }

  @Override
  public T deserialize(T reuse, DataInputView source) throws IOException {
    return deserialize(source);
  }

  @Override
  public void copy(DataInputView source, DataOutputView target) throws IOException {
    byte[] encoded = readEncoded(source);
    target.writeInt(encoded.length);
    target.write(encoded);
  }

  private static byte[] readEncoded(DataInputView source) throws IOException {
    byte[] encoded = new byte[source.readInt()];
    source.readFully(encoded);
    return encoded;
  }
}
