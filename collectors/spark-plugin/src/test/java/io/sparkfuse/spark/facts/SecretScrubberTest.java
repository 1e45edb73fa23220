package io.sparkfuse.spark.facts;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import io.sparkfuse.spark.json.JsonReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

class SecretScrubberTest {
  /**
   * The cases that test_rules_scrubbing.py also runs, so that both scrubbers give the same result.
   */
  private static final Path CASES = Paths.get("../../contracts/shared/scrubbing_cases.json");

  /**
   * Time limit for scrubbing a hostile text: far above the normal time, and below the time of a
   * pattern that backtracks.
   */
  private static final long MOST_MS = 60_000;

  private static final int[] LENGTHS = {2_048, 4_096, 1_000_000};

  private static Stream<?> cases(String kind) throws IOException {
    String text = new String(Files.readAllBytes(CASES), StandardCharsets.UTF_8);
    return ((List<?>) ((Map<?, ?>) JsonReader.read(text)).get(kind)).stream();
  }

  private static Stream<Arguments> named(String kind, String... fields) throws IOException {
    return cases(kind)
        .map(each -> arguments(Stream.of(fields).map(((Map<?, ?>) each)::get).toArray()));
  }

  static Stream<Arguments> secrets() throws IOException {
    return named("scrub", "case", "text", "kept");
  }

  static Stream<Arguments> queries() throws IOException {
    return named("scrub_query", "case", "text", "kept");
  }

  static Stream<Arguments> cutSecrets() throws IOException {
    return named("cut", "case", "text", "kept");
  }

  static Stream<?> ordinary() throws IOException {
    return cases("stays");
  }

  static Stream<Arguments> hostile() throws IOException {
    return named("hostile", "case", "unit");
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("secrets")
  void secretsAreRemoved(String name, String text, String kept) {
    assertEquals(kept, SecretScrubber.scrub(text));
    assertEquals(kept, SecretScrubber.scrub(kept));
  }

  /**
   * A secret is removed even if the searched part of the text ends inside the secret. A private key
   * fills the text before the secret.
   */
  @ParameterizedTest(name = "{0}")
  @MethodSource("cutSecrets")
  void secretThatWasCutIsRemoved(String name, String text, String kept) {
    String begin = "-----BEGIN PRIVATE KEY-----";
    String end = "-----END PRIVATE KEY-----\n" + text;
    int room = SecretScrubber.MAX_CHARS - begin.length() - end.length();
    String whole = begin + String.join("", Collections.nCopies(room, "a")) + end;

    assertEquals("***\n" + kept, SecretScrubber.scrub(whole + "hunter2 and more"));
    assertEquals(
        "***\n" + kept, SecretScrubber.scrub(SecretScrubber.cut(whole + "hunter2 and more")));
  }

  /**
   * If the searched part of the text ends in the middle of an address, the incomplete address is
   * removed, even if it would fit after stack frames were dropped.
   */
  @Test
  void searchedTextEndsWithWholeWord() {
    String frames = String.join("", Collections.nCopies(3_440, "\tat a.B(C.scala:1)\n"));
    String address = "to https://me:hunter2";
    int room = 65_536 - frames.length() - address.length() - 1;
    String first = String.join("", Collections.nCopies(room, "a"));
    String text = first + "\n" + frames + address + "hunter2@host/x";

    assertTrue(SecretScrubber.scrub(text).endsWith("(C.scala:1)\nto"));
    assertTrue(SecretScrubber.scrub(SecretScrubber.cut(text)).endsWith("(C.scala:1)\nto"));
  }

  @ParameterizedTest
  @MethodSource("ordinary")
  void ordinaryTextIsUnchanged(String text) {
    assertEquals(text, SecretScrubber.scrub(text));
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("queries")
  void literalsOfQueriesAreRemoved(String name, String text, String kept) {
    assertEquals(kept, SecretScrubber.scrubQuery(text));
    assertEquals(kept, SecretScrubber.scrubQuery(kept));
  }

  /**
   * Scrubbing a hostile text takes little time and little stack, because threads of a driver may
   * have small stacks.
   */
  @ParameterizedTest(name = "{0}")
  @MethodSource("hostile")
  void hostileTextIsScrubbedInBoundedTime(String name, String unit) throws InterruptedException {
    boolean[] ended = {false};
    Runnable scrubsAll =
        () -> {
          for (int length : LENGTHS) {
            int times = length / unit.length() + 1;
            String text = String.join("", Collections.nCopies(times, unit)).substring(0, length);
            assertWithinLimit(SecretScrubber.scrubQuery(text));
            assertWithinLimit(SecretScrubber.scrub("a.Error:\n" + text));
          }
          ended[0] = true;
        };
    Thread small = new Thread(null, scrubsAll, "small stack", 256 * 1_024);
    small.setDaemon(true);
    small.start();
    small.join(MOST_MS);

    assertTrue(ended[0]);
  }

  private static void assertWithinLimit(String text) {
    assertTrue(text.getBytes(StandardCharsets.UTF_8).length <= SecretScrubber.MAX_BYTES);
  }

  @Test
  void textIsScrubbedBeforeItIsShortened() {
    String text = "connect to https://hunter2hunter2hunter2hunter2hunter2@db.example/orders";
    for (int chars = 20; chars < 70; chars++) {
      assertFalse(SecretScrubber.shortened(text, chars).contains("hunter"), "at " + chars);
    }

    assertEquals("password=hunter2", SecretScrubber.shortened("password=hunter2", 512));
  }

  @Test
  void limitInBytesKeepsWholeCharacters() {
    String scrubbed = SecretScrubber.scrub(String.join("", Collections.nCopies(3_000, "\u20ac")));

    int bytes = scrubbed.getBytes(StandardCharsets.UTF_8).length;
    assertTrue(bytes <= SecretScrubber.MAX_BYTES && bytes > SecretScrubber.MAX_BYTES - 4);
    assertTrue(scrubbed.matches("\u20ac+"));
  }

  /**
   * The last cause of a long stack is kept. test_rules_scrubbing.py tests the same text, so that
   * both scrubbers give the same result.
   */
  @Test
  void lastCauseOfLongStackIsKept() {
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
  void frameOfPythonRunnerIsKept() {
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
}
