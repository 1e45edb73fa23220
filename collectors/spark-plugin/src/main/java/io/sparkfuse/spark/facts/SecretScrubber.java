package io.sparkfuse.spark.facts;

import java.nio.charset.StandardCharsets;
import java.util.regex.Pattern;

/**
 * Removes obvious secrets from free text and limits it to {@link #MAX_BYTES} of UTF-8.
 *
 * <p>This is a first pass, so that secrets do not leave the JVM; consumers scrub again. The
 * patterns equal those of scrubbing.py. A secret without an end extends to the end of the text,
 * because long texts are cut first. Repetitions are bounded or possessive, so that a hostile text
 * takes neither much time nor a deep stack. No pattern uses {@code \b}, because Java versions
 * differ on letters with accents.
 */
public final class SecretScrubber {
  public static final int MAX_BYTES = 2_048;

  /** Texts are cut to this length first, so that queues stay small. */
  public static final int MAX_CHARS = 2 * MAX_BYTES;

  /** Of a longer text, only this much is searched for the most useful parts. */
  private static final int MAX_SEARCHED = 65_536;

  /** The first frames of a stack show the location; the others are Spark's own. */
  private static final int FRAMES_KEPT = 2;

  /**
   * A frame with this name is also kept: it shows that the other end of a socket was a Python
   * worker.
   */
  private static final String PYTHON_RUNNER = "PythonRunner";

  private static final String MASK = "***";
  private static final Pattern PRIVATE_KEY =
      Pattern.compile(
          "-{4,5} ?BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}"
              + "[\\s\\S]*?(?:-{4,5} ?END[^\\n]*|\\z)");

  /**
   * First alternative: user and password. Second: a password with slashes, where the text after the
   * colon is not a port. Spark writes three dots where it cut an address.
   */
  private static final Pattern USER_INFO =
      Pattern.compile(
          "(://)(?:[^/\\s@'\"]{1,2000}+(?:@[^/\\s@'\",;&=?#]{1,200}+(?=@)){0,3}+@"
              + "|[^/\\s@'\":\\[;?#,]{0,200}+:(?!//|[0-9]{1,5}(?![\\w@%$~+*&=^-]))"
              + "[^\\s@'\"]{1,4096}+(?:@|(?<=\\.\\.\\.)|(?<=\\.\\.\\.[,;)\\]])))");

  /**
   * The last address of a cut text, before the missing @. In a complete text the same form would be
   * bucket:v1 or registry:latest.
   */
  private static final Pattern USER_INFO_CUT =
      Pattern.compile(
          "(://)[^/\\s@'\":\\[;?#,]{0,200}+:(?!//|[0-9]{1,5}(?![\\w@%$~+*&=^-]))"
              + "[^\\s@'\"]{1,4096}+\\z");

  private static final Pattern ORACLE_USER =
      Pattern.compile(
          "(?i)(jdbc:oracle:\\w{1,10}:)(?:\"[^\"\\n]{0,200}+\"|[^\\s\"'/@]{0,200}+)/"
              + "(?:\"[^\"\\n]{0,2000}+\"?"
              + "|[^\\s\"'@]{0,2000}+(?:@[^\\s@'\",;&=?#/:(]{1,200}+(?=@)){0,3}+)@?");
  private static final Pattern SCHEME_VALUE =
      Pattern.compile("(?i)(?<!\\w)(bearer|basic)\\s+[A-Za-z0-9._~+/=-]{8,}");

  /**
   * "pass" and "pw" match only as whole words, also in DB_PASS, dbPass and dbpass. No matches:
   * passed, bypass, passthrough, and "pass: 2 of 3", which counts. A keyword of SQL is no value
   * ("pass = AND grade >" has lost its literals), nor is the body of a lambda (token ->
   * upper(token)).
   */
  private static final Pattern NAMED_VALUE =
      Pattern.compile(
          "(?i)(((?:passw(?:or)?d|pwd|passphrase|passcode|secret|token|credentials?"
              + "|api[ _.-]?key|access[ _.-]?key|account[ _.-]?key|(?<!\\w)sig|(?<!\\w)sas"
              + "|(?:(?<![a-z])|(?-i:(?<=[a-z])(?=P))"
              + "|(?:admin|cert|db|ftp|http|jdbc|key|ldap|mail|my|mysql|pg|proxy|root|smtp|sql|ssh"
              + "|ssl|store|user))p(?:ass|w)"
              + "(?![\\w.-]|\\s{0,3}:\\s{0,3}[0-9]{1,3}(?:/[0-9]{1,3})?[.,;)\\]]?(?:\\s|\\z)))"
              + "[\\w.-]{0,40})(?:\\\\{0,4}[\"'])?\\s{0,3}"
              + "(?:={1,3}+(?!>)|:=?+"
              + "|[-=]{1,2}>(?!\\s{0,3}(?:\\w{0,40}+\\(){0,4}+\\2(?![\\w-])))\\s{0,3}+"
              + "(?!(?:and|asc|between|desc|else|end|in|inset|is|isnotnull|like|not|null|or|order|then"
              + "|when|where)(?:[\\s,;)\\]]|\\z)))"
              + "(\\\\{1,4}\"[^\"]*\"?|\\\\{1,4}'[^']*'?"
              + "|\"(?:[^\"\\\\]|\\\\[\\s\\S]|\"\")*+\"?|'(?:[^'\\\\]|\\\\[\\s\\S]|'')*+'?"
              + "|[^\\s\"',;&)}]+)");

  /** Secret keys of AWS have no pattern except their length. */
  private static final Pattern AWS_SECRET =
      Pattern.compile(
          "(?i)((?:secret|access[ _.-]?key)[\\w.-]{0,40}\\W{1,6}(?:is\\W{1,3})?)"
              + "[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+])={0,2}");

  /** A secret key that is cut must contain a digit and must not be part of a path or table name. */
  private static final Pattern AWS_SECRET_CUT =
      Pattern.compile(
          "(?i)((?:secret|access[ _.-]?key)[\\w.-]{0,40}[^\\w./]{1,6}(?:is[^\\w./]{1,3})?)"
              + "(?=[A-Za-z/+]{0,38}[0-9])[A-Za-z0-9/+]{16,39}\\z");

  private static final Pattern KNOWN_SHAPE =
      Pattern.compile("(?<!\\w)(?:(?:AKIA|ASIA)[0-9A-Z]{16}|eyJ[\\w-]{10,}\\.[\\w.-]{10,})");

  /** SQL keywords and prefixes that a literal can follow without a blank: LIKE'%', N'text'. */
  private static final String OPENING =
      "r n e and any as between both by collate distinct else escape for from glob having if ilike"
          + " in into is leading like not of on or placing regexp return rlike select then to"
          + " trailing using values when where with xor";

  /**
   * Keywords that prose also uses with an s: "the date's orders". No literal of a date begins with
   * an s.
   */
  private static final String OPENING_WITHOUT_S =
      "b x binary case comment date default interval location time timestamp timestamp_ltz"
          + " timestamp_ntz zone";

  /** A letter of any language. */
  private static final String LETTER = "[^\\x00-@\\[-`{-\\x7f]";

  /** A letter, digit or underscore of any language. */
  private static final String OF_WORD = "[^\\x00-/:-@\\[-^`{-\\x7f]";

  /**
   * An apostrophe in prose: after or before a letter (Bob's, l'import, O'Brien), or after a plural
   * (the users' orders). If a second apostrophe follows the first word, it is a literal.
   */
  private static final String APOSTROPHE =
      "(?<="
          + LETTER
          + ")"
          + notAfter(OPENING, "")
          + "'(?:s(?![\\w'])"
          + "|"
          + notAfter(OPENING_WITHOUT_S, "'")
          + "(?:(?="
          + LETTER
          + ")"
          + OF_WORD
          + "++(?!')|(?<=s')(?:[\\s,.;:!)]|\\z)))";

  /**
   * Literals as Spark parses them: single or double quotes, backslash escapes except in r'...',
   * doubled quotes. An apostrophe of prose does not open a literal. After a lower-case n or e it
   * can be both (n'est pas, n'text'), so the rest of the text is removed.
   */
  private static final Pattern LITERAL =
      Pattern.compile(
          "(?i)(?!"
              + APOSTROPHE
              + ")(['\"])"
              + "(?:(?<=(?<!\\w)r['\"])(?:(?!\\1)[\\s\\S])*+(?:\\1|\\z)"
              + "|(?<=(?<!\\w)(?-i:[en])')(?="
              + LETTER
              + ")[\\s\\S]++"
              + "|(?:(?<=escape ')|(?<=escape'))\\\\'"
              + "|(?:[^'\"\\\\]|\\\\[\\s\\S]|\\1\\1|(?!\\1)['\"])*+(?:\\1|\\\\?\\z))");

  private static final Pattern LONG_NUMBER = Pattern.compile("(?<!\\w)[0-9][0-9 -]{10,}(?<=[0-9])");

  private SecretScrubber() {}

  private static String notAfter(String words, String mark) {
    StringBuilder out = new StringBuilder();
    for (String word : words.split(" ")) {
      out.append("(?<!(?<!\\w)").append(word).append(mark).append(')');
    }
    return out.toString();
  }

  /** Cuts a text to the length for a queue, most stack frames first; returns null for null. */
  public static String cut(String text) {
    if (text == null || text.length() <= MAX_BYTES) {
      return text;
    }
    String condensed = condensed(text);
    return condensed.length() <= MAX_CHARS ? condensed : condensed.substring(0, MAX_CHARS);
  }

  /**
   * Returns the text without most stack frames, so that the causes fit: Spark writes the outermost
   * exception first and the cause last, after some fifty frames each.
   */
  private static String condensed(String text) {
    int length = searched(text);
    StringBuilder kept = new StringBuilder(MAX_CHARS);
    int frames = 0;
    boolean runnerKept = false;
    boolean first = true;
    int end;
    for (int start = 0; start <= length; start = end + 1) {
      int found = text.indexOf('\n', start);
      end = found < 0 || found > length ? length : found;
      int bare = start;
      while (bare < end && (text.charAt(bare) == '\t' || text.charAt(bare) == ' ')) {
        bare++;
      }
      boolean indented = bare > start;
      if (indented && starts(text, "... ", bare, end)) { // "... 42 more"
        continue;
      }
      frames = indented && starts(text, "at ", bare, end) ? frames + 1 : 0;
      boolean namesRunner =
          frames > FRAMES_KEPT && !runnerKept && text.substring(bare, end).contains(PYTHON_RUNNER);
      runnerKept = frames > 0 && (runnerKept || namesRunner);
      if (frames > FRAMES_KEPT && !namesRunner) {
        continue;
      }
      if (!first) {
        kept.append('\n');
      }
      first = false;
      kept.append(text, start, end);
    }
    return kept.toString();
  }

  /**
   * Returns how much of a text is searched, up to a blank, because half a word could be a secret
   * without its end.
   */
  private static int searched(String text) {
    if (text.length() <= MAX_SEARCHED) {
      return text.length();
    }
    int last = MAX_SEARCHED - 1;
    int blank = Math.max(text.lastIndexOf(' ', last), text.lastIndexOf('\n', last));
    return blank > 0 ? blank : MAX_SEARCHED;
  }

  private static boolean starts(String text, String word, int from, int end) {
    return from + word.length() <= end && text.startsWith(word, from);
  }

  /** Returns a free text (exception, reason, URL) without obvious secrets, limited in length. */
  public static String scrub(String text) {
    String searched = cut(text);
    String out = PRIVATE_KEY.matcher(searched).replaceAll(MASK);
    out = USER_INFO.matcher(out).replaceAll("$1" + MASK + "@");
    boolean isCut = searched.length() == MAX_CHARS;
    if (isCut) {
      out = USER_INFO_CUT.matcher(out).replaceAll("$1" + MASK + "@");
    }
    out = ORACLE_USER.matcher(out).replaceAll("$1" + MASK + "@");
    out = SCHEME_VALUE.matcher(out).replaceAll("$1 " + MASK);
    out = NAMED_VALUE.matcher(out).replaceAll("$1" + MASK);
    out = AWS_SECRET.matcher(out).replaceAll("$1" + MASK);
    if (isCut) {
      out = AWS_SECRET_CUT.matcher(out).replaceAll("$1" + MASK);
    }
    out = KNOWN_SHAPE.matcher(out).replaceAll(MASK);
    return cap(out);
  }

  /**
   * Does the same as {@link #scrub}, and removes quoted literals and numbers like those of cards:
   * for SQL text.
   *
   * <p>Names in double quotes are removed too, because Spark parses them as literals by default.
   * Use it for plans and descriptions, not for failures.
   */
  public static String scrubQuery(String text) {
    String out = LITERAL.matcher(scrub(text)).replaceAll("$1?$1");
    return cap(LONG_NUMBER.matcher(out).replaceAll("?")); // an empty literal becomes longer
  }

  /**
   * Returns the beginning of a text. A text that must be cut is scrubbed first, because a cut can
   * separate a secret from its name.
   */
  public static String shortened(String text, int maxChars) {
    if (text.length() <= maxChars) {
      return text;
    }
    String scrubbed = scrub(text);
    return scrubbed.substring(0, Math.min(scrubbed.length(), maxChars));
  }

  static String cap(String text) {
    if (text.length() * 3L <= MAX_BYTES) {
      return text;
    }
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    if (bytes.length <= MAX_BYTES) {
      return text;
    }
    int end = MAX_BYTES;
    while ((bytes[end] & 0xC0) == 0x80) { // not inside a character
      end--;
    }
    return new String(bytes, 0, end, StandardCharsets.UTF_8);
  }
}
