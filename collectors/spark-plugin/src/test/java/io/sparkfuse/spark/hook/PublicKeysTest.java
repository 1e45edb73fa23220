package io.sparkfuse.spark.hook;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;
import java.util.Collections;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class PublicKeysTest {
  private static final String PAYLOAD = "{\"app_id\":\"app-1\"}";
  private static final long DAY_MS = 86_400_000;

  /**
   * A public key over the curve secp256k1. It is a constant, because some JVMs cannot generate such
   * a key.
   */
  private static final String SECP256K1 =
      "MFYwEAYHKoZIzj0CAQYFK4EEAAoDQgAEaQ3cA9eJ4LpF0WCEu4OQCxQTGpPxysd2S1/IZYk82g8BwoMI"
          + "6wxB7p6hpe4Q1xr9Wn5o1rZnzTo2LYbmrvON9g==";

  private final TestKey key = TestKey.of("act");

  private static String unverified(PublicKeys keys, String envelope) {
    return keys.unverified(MessageReader.signed(envelope), "act", "signals");
  }

  @Test
  void keyIsReadFromFileAndFromText(@TempDir Path folder) throws Exception {
    Path file = folder.resolve("key.pem");
    String base64 = Base64.getMimeEncoder().encodeToString(key.der());
    Files.write(
        file,
        Collections.singletonList(
            "-----BEGIN PUBLIC KEY-----\n" + base64 + "\n-----END PUBLIC KEY-----"));
    String envelope = key.signed("signals", PAYLOAD);

    assertEquals(null, unverified(PublicKeys.of("act:2027-01-15:" + file), envelope));
    assertEquals(null, unverified(PublicKeys.of(" " + key.entry("2027-01-15") + ","), envelope));
  }

  @Test
  void otherTextTopicPurposeOrSignatureIsUnverified() {
    PublicKeys keys = PublicKeys.of(key.entry("2027-01-15"));
    String envelope = key.signed("signals", PAYLOAD);

    assertEquals("the signature is invalid", unverified(keys, key.signed("controls", PAYLOAD)));
    assertEquals("the signature is invalid", unverified(keys, envelope.replace("app-1", "app-2")));
    assertEquals(
        "the signature is invalid",
        unverified(
            keys, envelope.replaceAll("\"signature\":\"[^\"]*\"", "\"signature\":\"no base64\"")));
    assertTrue(unverified(keys, envelope.replace("\"act\"", "\"switch\"")).contains("not for"));
    assertTrue(
        unverified(keys, TestKey.of("act").signed("signals", PAYLOAD)).contains("no public key"));
  }

  @Test
  void keyIsValidUntilTheEndOfItsLastDay() {
    PublicKeys keys = PublicKeys.of(key.entry("1970-01-02"));

    assertEquals(null, keys.invalid(key.id(), 2 * DAY_MS - 1, Collections.emptySet()));
    assertTrue(keys.invalid(key.id(), 2 * DAY_MS, Collections.emptySet()).contains("expired"));
    assertTrue(keys.invalid(key.id(), 0, Collections.singleton(key.id())).contains("revoked"));
  }

  @Test
  void otherCurvesAreRefused() {
    assertTrue(PublicKeys.of(TestKey.of("act", "secp384r1").entry("2027-01-15")).isEmpty());
    assertTrue(PublicKeys.of("act:2027-01-15:" + SECP256K1).isEmpty());
  }

  @Test
  void keyWithTwoPurposesIsTrustedForNone() {
    String both =
        key.entry("2027-01-15") + "," + key.entry("2027-01-15").replace("act:", "switch:");

    assertTrue(PublicKeys.of(both).isEmpty());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"", ",", "key.pem", "act:key.pem", "act:2027-13-01:x", "kill:2027-01-15:x"})
  void invalidEntriesAreIgnored(String setting) {
    assertTrue(PublicKeys.of(setting).isEmpty());
  }
}
