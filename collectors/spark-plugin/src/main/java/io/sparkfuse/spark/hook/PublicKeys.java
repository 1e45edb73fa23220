package io.sparkfuse.spark.hook;

import io.sparkfuse.contracts.SignedMessage;
import io.sparkfuse.spark.safety.PluginLog;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.security.AlgorithmParameters;
import java.security.KeyFactory;
import java.security.Signature;
import java.security.interfaces.ECPublicKey;
import java.security.spec.ECFieldFp;
import java.security.spec.ECGenParameterSpec;
import java.security.spec.ECParameterSpec;
import java.security.spec.X509EncodedKeySpec;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.Arrays;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The public keys that this job trusts, each for one purpose and until a day: ECDSA over P-256 with
 * SHA-256.
 *
 * <p>The id of a key is the first 16 hexadecimal digits of the SHA-256 of its DER form
 * (SubjectPublicKeyInfo). During a rotation, two keys of one purpose can be valid.
 */
class PublicKeys {
  static final String ACT = "act";
  static final String SWITCH = "switch";
  static final String APPROVE = "approve";
  private static final List<String> PURPOSES = Arrays.asList(ACT, SWITCH, APPROVE);
  private static final int ID_DIGITS = 16;

  private static final class Key {
    private final String purpose;
    private final long endMs;
    private final ECPublicKey key;

    private Key(String purpose, long endMs, ECPublicKey key) {
      this.purpose = purpose;
      this.endMs = endMs;
      this.key = key;
    }
  }

  private final Map<String, Key> keys = new LinkedHashMap<>();

  PublicKeys() {}

  /**
   * Parses {@code spark.sparkfuse.fuse.publicKeys}: a list, separated by commas, of {@code
   * purpose:YYYY-MM-DD:key}, where the day (UTC) is the last valid one and the key is the path of a
   * PEM file or base64 DER. Invalid elements are logged and skipped, so signatures by their keys
   * are refused.
   */
  static PublicKeys of(String setting) {
    return new PublicKeys().with(setting);
  }

  final PublicKeys with(String setting) {
    for (String part : setting.split(",")) {
      if (!part.trim().isEmpty()) {
        add(part.trim());
      }
    }
    return this;
  }

  boolean isEmpty() {
    return keys.isEmpty();
  }

  /**
   * Returns null if a key of this job signed the message for this purpose and topic; otherwise why
   * there is no such signature. {@link #invalid} checks expiry and revocation.
   */
  String unverified(SignedMessage signed, String purpose, String topic) {
    String fault = unsuitable(signed, purpose);
    if (fault != null) {
      return fault;
    }
    String text = purpose + "\n" + topic + "\n" + signed.getPayload();
    return verifies(keys.get(signed.getKeyId()).key, text, signed.getSignature())
        ? null
        : "the signature is invalid";
  }

  /**
   * Returns why no signature of the message's key can be valid for this purpose; null if one can
   * be. Needs no cryptography.
   */
  String unsuitable(SignedMessage signed, String purpose) {
    Key key = keys.get(signed.getKeyId());
    if (key == null) {
      return "no public key has the id " + signed.getKeyId();
    }
    return key.purpose.equals(purpose) && signed.getPurpose().equals(purpose)
        ? null
        : "the key " + signed.getKeyId() + " is for " + key.purpose + ", not for " + purpose;
  }

  /** Returns why a key is not valid at the given broker time; null if the key is valid. */
  String invalid(String keyId, long nowMs, Set<String> revoked) {
    Key key = keys.get(keyId);
    if (key == null) {
      return "no public key has the id " + keyId;
    }
    if (revoked.contains(keyId)) {
      return "the key " + keyId + " is revoked";
    }
    return nowMs >= key.endMs ? "the key " + keyId + " has expired" : null;
  }

  /** Returns whether a base64 signature is valid for a text and a key. */
  boolean verifies(ECPublicKey key, String text, String signature) {
    try {
      Signature check = Signature.getInstance("SHA256withECDSA");
      check.initVerify(key);
      check.update(text.getBytes(StandardCharsets.UTF_8));
      return check.verify(Base64.getDecoder().decode(signature));
    } catch (Exception malformed) { // a malformed signature is invalid
      return false;
    }
  }

  private void add(String part) {
    String[] fields = part.split(":", 3);
    try {
      if (fields.length != 3 || !PURPOSES.contains(fields[0])) {
        throw new IllegalArgumentException("the purpose is not one of " + PURPOSES);
      }
      LocalDate last = LocalDate.parse(fields[1]);
      byte[] der = der(fields[2]);
      ECPublicKey key =
          (ECPublicKey) KeyFactory.getInstance("EC").generatePublic(new X509EncodedKeySpec(der));
      if (!isP256(key.getParams())) {
        throw new IllegalArgumentException("the curve is not P-256");
      }
      long endMs = last.plusDays(1).atStartOfDay(ZoneOffset.UTC).toInstant().toEpochMilli();
      Key before = keys.put(id(der), new Key(fields[0], endMs, key));
      if (before != null && !before.purpose.equals(fields[0])) {
        keys.remove(id(der));
        throw new IllegalArgumentException("the key has two purposes, so it is not trusted");
      }
    } catch (Exception unreadable) {
      PluginLog.warn(
          "Sparkfuse: an entry of spark.sparkfuse.fuse.publicKeys is not"
              + " purpose:YYYY-MM-DD:key with the path of a PEM file or a P-256 key in base64 DER: "
              + unreadable);
    }
  }

  /**
   * Returns whether a curve has all parameters of P-256; a key does not contain the curve's name.
   */
  private static boolean isP256(ECParameterSpec curve) throws Exception {
    AlgorithmParameters named = AlgorithmParameters.getInstance("EC");
    named.init(new ECGenParameterSpec("secp256r1"));
    ECParameterSpec p256 = named.getParameterSpec(ECParameterSpec.class);
    return prime(curve).equals(prime(p256))
        && curve.getCurve().getA().equals(p256.getCurve().getA())
        && curve.getCurve().getB().equals(p256.getCurve().getB())
        && curve.getGenerator().equals(p256.getGenerator())
        && curve.getOrder().equals(p256.getOrder())
        && curve.getCofactor() == p256.getCofactor();
  }

  private static BigInteger prime(ECParameterSpec curve) {
    return ((ECFieldFp) curve.getCurve().getField()).getP();
  }

  private static byte[] der(String part) throws Exception {
    String text = part;
    if (Files.isRegularFile(Paths.get(part))) {
      text = new String(Files.readAllBytes(Paths.get(part)), StandardCharsets.US_ASCII);
    }
    String base64 = text.replaceAll("-----[A-Z ]+-----", "").replaceAll("\\s", "");
    return Base64.getDecoder().decode(base64);
  }

  static String id(byte[] der) {
    return Hashes.sha256(der).substring(0, ID_DIGITS);
  }
}
