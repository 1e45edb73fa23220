package io.sparkfuse.spark.facts;

import java.nio.charset.StandardCharsets;
import java.util.regex.Pattern;

/**
 * Takes obvious secrets out of free text and caps it at {@link #MAX_BYTES} of UTF-8.
 *
 * <p>A first pass, so that secrets do not leave the JVM in plain sight; consumers scrub again. The
 * patterns are those of Python's scrubber (scrubbing.py), letter by letter. A secret without an end
 * goes to the end of the text, because long texts are cut first. Repeats are bounded or give
 * nothing back, so that a hostile text takes neither time nor a deep stack. None asks for a word's
 * edge ({@code \b}), of which each Java thinks otherwise behind a letter with an accent.
 */
public final class SecretScrubber {
  public static final int MAX_BYTES = 2_048;

  /** Texts are cut to this before anything else is done with them, so that queues stay small. */
  public static final int MAX_CHARS = 2 * MAX_BYTES;

  /** Of a longer text this much is looked at to leave out what explains least. */
  private static final int MAX_LOOKED_AT = 65_536;

  /** Where it happened is in the first frames of a stack; the rest is Spark's own. */
  private static final int FRAMES_KEPT = 2;

  /**
   * And one that says who was at the other end of a socket: the cause is the worker's end, and not
   * the network's.
   */
  private static final String PYTHON_RUNNER = "PythonRunner";

  private static final String MASK = "***";
  private static final Pattern PRIVATE_KEY =
      Pattern.compile(
          "-{4,5} ?BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}"
              + "[\\s\\S]*?(?:-{4,5} ?END[^\\n]*|\\z)");

  /**
   * First a user and password as they should be, then a password with slashes: what follows the
   * colon is no port then. Spark writes three dots where it cut an address.
   */
  private static final Pattern USER_INFO =
      Pattern.compile(
          "(://)(?:[^/\\s@'\"]{1,2000}+(?:@[^/\\s@'\",;&=?#]{1,200}+(?=@)){0,3}+@"
              + "|[^/\\s@'\":\\[;?#,]{0,200}+:(?!//|[0-9]{1,5}(?![\\w@%$~+*&=^-]))"
              + "[^\\s@'\"]{1,4096}+(?:@|(?<=\\.\\.\\.)|(?<=\\.\\.\\.[,;)\\]])))");

  /**
   * The last address of a text that was cut, in front of the @: of a whole text it would be
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
   * "pass" and "pw" tell only as whole words, also in DB_PASS, dbPass and dbpass: passed, bypass
   * and passthrough hold no secret, and "pass: 2 of 3" counts. A word of SQL is no value (the
   * condition "pass = AND grade >" has lost its literals), and neither is what a lambda makes of
   * its parameter (token -> upper(token)).
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

  /** AWS's secret keys have no shape but their length. */
  private static final Pattern AWS_SECRET =
      Pattern.compile(
          "(?i)((?:secret|access[ _.-]?key)[\\w.-]{0,40}\\W{1,6}(?:is\\W{1,3})?)"
              + "[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+])={0,2}");

  /**
   * One that the text's cut left shorter shows a digit at least, and is no part of a path or of a
   * table's name.
   */
  private static final Pattern AWS_SECRET_CUT =
      Pattern.compile(
          "(?i)((?:secret|access[ _.-]?key)[\\w.-]{0,40}[^\\w./]{1,6}(?:is[^\\w./]{1,3})?)"
              + "(?=[A-Za-z/+]{0,38}[0-9])[A-Za-z0-9/+]{16,39}\\z");

  private static final Pattern KNOWN_SHAPE =
      Pattern.compile("(?<!\\w)(?:(?:AKIA|ASIA)[0-9A-Z]{16}|eyJ[\\w-]{10,}\\.[\\w.-]{10,})");

  /** Words of SQL, and letters, that a literal may follow without a blank: LIKE's%', N'text'. */
  private static final String OPENING =
      "r n e and any as between both by collate distinct else escape for from glob having if ilike"
          + " in into is leading like not of on or placing regexp return rlike select then to"
          + " trailing using values when where with xor";

  /**
   * And those that a person may also write with an s: the date's orders. No literal of a date
   * begins with an s.
   */
  private static final String OPENING_BUT_S =
      "b x binary case comment date default interval location time timestamp timestamp_ltz"
          + " timestamp_ntz zone";

  /** A letter of any language. */
  private static final String LETTER = "[^\\x00-@\\[-`{-\\x7f]";

  /** A letter, digit or underscore of any language. */
  private static final String OF_WORD = "[^\\x00-/:-@\\[-^`{-\\x7f]";

  /**
   * An apostrophe of prose: behind a letter, in front of one (Bob's, l'import, O'Brien), or of a
   * plural (the users' orders). What has a second apostrophe behind its first word is a literal.
   */
  private static final String APOSTROPHE =
      "(?<="
          + LETTER
          + ")"
          + notBehind(OPENING, "")
          + "'(?:s(?![\\w'])"
          + "|"
          + notBehind(OPENING_BUT_S, "'")
          + "(?:(?="
          + LETTER
          + ")"
          + OF_WORD
          + "++(?!')|(?<=s')(?:[\\s,.;:!)]|\\z)))";

  /**
   * As Spark reads them: text in single and in double quotes alike, a backslash escapes but for
   * r'...', a doubled quote is one. An apostrophe opens nothing, else the next literal would be
   * taken for its outside. Behind a small n or e it may be either (n'est pas, n'text'), so that all
   * behind it goes.
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

  private static String notBehind(String words, String mark) {
    StringBuilder out = new StringBuilder();
    for (String word : words.split(" ")) {
      out.append("(?<!(?<!\\w)").append(word).append(mark).append(')');
    }
    return out.toString();
  }

  /** Cuts a text to what may wait in a queue, most frames of its stacks first; null stays null. */
  public static String cut(String text) {
    if (text == null || text.length() <= MAX_BYTES) {
      return text;
    }
    String condensed = condensed(text);
    return condensed.length() <= MAX_CHARS ? condensed : condensed.substring(0, MAX_CHARS);
  }

  /**
   * The text without most frames of its stacks, so that the causes behind them still fit: Spark
   * writes the outermost exception first and the cause last, behind some fifty frames each.
   */
  private static String condensed(String text) {
    int length = lookedAt(text);
    StringBuilder kept = new StringBuilder(MAX_CHARS);
    int frames = 0;
    boolean runnerTold = false;
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
      if (indented && starts(text, "... ", bare, end)) { // and so many more frames
        continue;
      }
      frames = indented && starts(text, "at ", bare, end) ? frames + 1 : 0;
      boolean tellsRunner =
          frames > FRAMES_KEPT && !runnerTold && text.substring(bare, end).contains(PYTHON_RUNNER);
      runnerTold = frames > 0 && (runnerTold || tellsRunner);
      if (frames > FRAMES_KEPT && !tellsRunner) {
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
   * How much of a text is looked at, up to a blank: half a word might be a secret without its end.
   */
  private static int lookedAt(String text) {
    if (text.length() <= MAX_LOOKED_AT) {
      return text.length();
    }
    int last = MAX_LOOKED_AT - 1;
    int blank = Math.max(text.lastIndexOf(' ', last), text.lastIndexOf('\n', last));
    return blank > 0 ? blank : MAX_LOOKED_AT;
  }

  private static boolean starts(String text, String word, int from, int end) {
    return from + word.length() <= end && text.startsWith(word, from);
  }

  /** Free text (exception, reason, URL) without obvious secrets, capped. */
  public static String scrub(String text) {
    String lookedAt = cut(text);
    String out = PRIVATE_KEY.matcher(lookedAt).replaceAll(MASK);
    out = USER_INFO.matcher(out).replaceAll("$1" + MASK + "@");
    boolean isCut = lookedAt.length() == MAX_CHARS;
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
   * As {@link #scrub}, and quoted literals and card-like numbers are taken out: for SQL text.
   *
   * <p>Names in double quotes go too: Spark reads these as literals unless it is told otherwise,
   * and a query that is pushed down to another database is shown by its table anyhow. So this is
   * for plans and descriptions, never for failures.
   */
  public static String scrubQuery(String text) {
    String out = LITERAL.matcher(scrub(text)).replaceAll("$1?$1");
    return cap(LONG_NUMBER.matcher(out).replaceAll("?")); // an empty literal becomes longer
  }

  /**
   * The beginning of a text, scrubbed first if it is cut: a cut may part a secret from what tells
   * that it is one.
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
    while ((bytes[end] & 0xC0) == 0x80) { // not in the middle of a character
      end--;
    }
    return new String(bytes, 0, end, StandardCharsets.UTF_8);
  }
}
