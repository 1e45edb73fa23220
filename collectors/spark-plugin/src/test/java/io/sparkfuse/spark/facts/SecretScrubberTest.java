package io.sparkfuse.spark.facts;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.util.Collections;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class SecretScrubberTest {
  @ParameterizedTest
  @ValueSource(
      strings = {
        "jdbc:postgresql://db/x?user=me&password=hunter2&ssl=true",
        "jdbc:oracle://me:hunter2@db:1521/x",
        "fs.azure.account.key.store=hunter2",
        "{\"api_key\": \"hunter2\"}",
        "Authorization: Bearer hunter2hunter2",
        "pwd = 'hunter2 and a blank'",
        "org.apache.kafka...PlainLoginModule required username=\"u\" password=\"hunter2\";",
        "https://store/file?sv=1&sig=hunter2%3D",
        "-----BEGIN EC PRIVATE KEY-----\nhunter2\n-----END EC PRIVATE KEY-----",
        "passphrase: hunter2",
        "token=hunter2",
      })
  void secretsDoNotGetOut(String text) {
    String scrubbed = SecretScrubber.scrub(text);

    assertFalse(scrubbed.contains("hunter2"), scrubbed);
    assertTrue(scrubbed.contains("***"), scrubbed);
  }

  @Test
  void ordinaryTextStaysAsItIs() {
    String text = "java.io.IOException: No space left on device at /data/7 (stage 3.0, task 12)";

    assertEquals(text, SecretScrubber.scrub(text));
  }

  @Test
  void queriesLoseTheirLiterals() {
    assertEquals(
        "select * from t where card = '?' or n = ?",
        SecretScrubber.scrubQuery(
            "select * from t where card = 'alice@example.org' or n = 4111 1111 1111 1111"));
  }

  @Test
  void textIsCappedInBytesAndNotInTheMiddleOfACharacter() {
    String scrubbed = SecretScrubber.scrub(String.join("", Collections.nCopies(3_000, "\u20ac")));

    int bytes = scrubbed.getBytes(StandardCharsets.UTF_8).length;
    assertTrue(bytes <= SecretScrubber.MOST_BYTES && bytes > SecretScrubber.MOST_BYTES - 4);
    assertTrue(scrubbed.matches("\u20ac+"));
  }

  /** The same text as in test_rules_scrubbing.py: two scrubbers, one answer. */
  @Test
  void theLastCauseOfALongStackStays() {
    StringBuilder frames = new StringBuilder();
    for (int number = 0; number < 60; number++) {
      frames.append(
          "\tat org.apache.spark.deep.Inside$.step" + number + "(Inside.scala:" + number + ")\n");
    }
    String text =
        "a.Outer: failed\n"
            + frames
            + "Caused by: b.Inner: password=hunter2 is wrong\n"
            + frames
            + "\t... 12 more\n";
    String two =
        "\tat org.apache.spark.deep.Inside$.step0(Inside.scala:0)\n"
            + "\tat org.apache.spark.deep.Inside$.step1(Inside.scala:1)\n";
    String expected =
        "a.Outer: failed\n" + two + "Caused by: b.Inner: password=*** is wrong\n" + two;

    assertEquals(expected, SecretScrubber.scrub(text));
    assertEquals(expected, SecretScrubber.scrub(SecretScrubber.cut(text)));
  }

  @Test
  void whoWasAtTheOtherEndOfASocketStays() {
    StringBuilder frames = new StringBuilder();
    for (int number = 0; number < 30; number++) {
      frames.append("\tat java.base/sun.nio.ch.Socket").append(number).append(".read(S.java:1)\n");
    }
    String runner =
        "\tat org.apache.spark.api.python.PythonRunner$$anon$3.read(PythonRunner.scala:774)\n";
    String text =
        "java.net.SocketException: Connection reset\n" + frames + runner + runner + frames;
    String two =
        "\tat java.base/sun.nio.ch.Socket0.read(S.java:1)\n"
            + "\tat java.base/sun.nio.ch.Socket1.read(S.java:1)\n";

    assertEquals(
        "java.net.SocketException: Connection reset\n" + two + runner, SecretScrubber.scrub(text));
  }

  @Test
  void aHostileTextTakesNoTime() {
    String hostile = String.join("", Collections.nCopies(4_096, "a"));
    long began = System.nanoTime();
    for (int i = 0; i < 20; i++) {
      SecretScrubber.scrubQuery(hostile);
      SecretScrubber.scrubQuery(hostile.replace('a', '1'));
      SecretScrubber.scrubQuery(hostile.replace("aaaaa", "token"));
    }

    assertTrue((System.nanoTime() - began) / 1_000_000 < 5_000);
  }
}
