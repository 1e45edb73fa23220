package io.sparkfuse.spark.hook;

import io.sparkfuse.spark.safety.PluginLog;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.security.KeyFactory;
import java.security.MessageDigest;
import java.security.PublicKey;
import java.security.Signature;
import java.security.spec.X509EncodedKeySpec;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The public keys whose signals this job obeys: ECDSA over P-256 with SHA-256.
 *
 * <p>The id of a key is the first 16 hexadecimal digits of the SHA-256 of its DER form
 * (SubjectPublicKeyInfo). Two keys can be valid during a rotation.
 */
final class PublicKeys {
  private static final int ID_BYTES = 8;
  private final Map<String, PublicKey> keys = new LinkedHashMap<>();

  private PublicKeys() {}

  /**
   * Parses {@code spark.sparkfuse.fuse.publicKeys}: a list with commas, each element the path of a
   * PEM file or a key in PEM or base64 DER. Invalid elements are logged and skipped.
   */
  static PublicKeys of(String setting) {
    PublicKeys keys = new PublicKeys();
    for (String part : setting.split(",")) {
      if (!part.trim().isEmpty()) {
        keys.add(part.trim());
      }
    }
    return keys;
  }

  boolean isEmpty() {
    return keys.isEmpty();
  }

  /** Returns whether a key with this id is known. */
  boolean knows(String keyId) {
    return keys.containsKey(keyId);
  }

  /**
   * Returns whether {@code signature} (DER, base64) is that key's signature of the payload's UTF-8
   * bytes.
   */
  boolean verifies(String keyId, String payload, String signature) {
    try {
      Signature check = Signature.getInstance("SHA256withECDSA");
      check.initVerify(keys.get(keyId));
      check.update(payload.getBytes(StandardCharsets.UTF_8));
      return check.verify(Base64.getDecoder().decode(signature));
    } catch (Exception malformed) { // a malformed signature is invalid
      return false;
    }
  }

  private void add(String part) {
    try {
      byte[] der = der(part);
      PublicKey key = KeyFactory.getInstance("EC").generatePublic(new X509EncodedKeySpec(der));
      keys.put(id(der), key);
    } catch (Exception unreadable) {
      // without the key, its signals are refused
      PluginLog.warn(
          "Sparkfuse: an entry of spark.sparkfuse.fuse.publicKeys is neither the path of a"
              + " PEM file nor an EC public key in PEM or base64 DER: "
              + unreadable);
    }
  }

  private static byte[] der(String part) throws Exception {
    String text = part;
    if (!part.contains("-----BEGIN") && Files.isRegularFile(Paths.get(part))) {
      text = new String(Files.readAllBytes(Paths.get(part)), StandardCharsets.US_ASCII);
    }
    String base64 = text.replaceAll("-----[A-Z ]+-----", "").replaceAll("\\s", "");
    return Base64.getDecoder().decode(base64);
  }

  static String id(byte[] der) throws Exception {
    byte[] digest = MessageDigest.getInstance("SHA-256").digest(der);
    StringBuilder id = new StringBuilder();
    for (int i = 0; i < ID_BYTES; i++) {
      id.append(String.format("%02x", digest[i]));
    }
    return id.toString();
  }
}
