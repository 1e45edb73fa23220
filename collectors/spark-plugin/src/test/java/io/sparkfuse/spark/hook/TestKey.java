package io.sparkfuse.spark.hook;

import io.sparkfuse.spark.json.JsonWriter;
import java.nio.charset.StandardCharsets;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.Signature;
import java.security.spec.ECGenParameterSpec;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.Map;

/** A key pair for one purpose, which signs envelopes. */
final class TestKey {
  final String purpose;
  private final KeyPair pair;

  private TestKey(String purpose, KeyPair pair) {
    this.purpose = purpose;
    this.pair = pair;
  }

  static TestKey of(String purpose) {
    return of(purpose, "secp256r1");
  }

  static TestKey of(String purpose, String curve) {
    try {
      KeyPairGenerator generator = KeyPairGenerator.getInstance("EC");
      generator.initialize(new ECGenParameterSpec(curve));
      return new TestKey(purpose, generator.generateKeyPair());
    } catch (Exception missing) {
      throw new IllegalStateException(missing);
    }
  }

  byte[] der() {
    return pair.getPublic().getEncoded();
  }

  String id() {
    return PublicKeys.id(der());
  }

  /** Returns the entry of the setting spark.sparkfuse.fuse.publicKeys. */
  String entry(String lastDay) {
    return purpose + ":" + lastDay + ":" + Base64.getEncoder().encodeToString(der());
  }

  String signed(String topic, String payload) {
    return JsonWriter.write(envelope(topic, payload));
  }

  Map<String, Object> envelope(String topic, String payload) {
    Map<String, Object> envelope = new LinkedHashMap<>();
    envelope.put("payload", payload);
    envelope.put("signature", signature(purpose + "\n" + topic + "\n" + payload));
    envelope.put("key_id", id());
    envelope.put("purpose", purpose);
    return envelope;
  }

  private String signature(String text) {
    try {
      Signature signature = Signature.getInstance("SHA256withECDSA");
      signature.initSign(pair.getPrivate());
      signature.update(text.getBytes(StandardCharsets.UTF_8));
      return Base64.getEncoder().encodeToString(signature.sign());
    } catch (Exception impossible) {
      throw new IllegalStateException(impossible);
    }
  }
}
