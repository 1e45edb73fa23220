package io.sparkfuse.spark.json;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A strict parser of one JSON text (RFC 8259): no duplicate keys, no trailing text, limited depth.
 *
 * <p>Objects become maps, arrays become lists, integers that fit into 64 bits become Long, and
 * other numbers become Double. With this parser, the jar needs no JSON library of its own.
 */
public final class JsonReader {
  private static final int MAX_DEPTH = 16;
  private final String text;
  private int at;

  private JsonReader(String text) {
    this.text = text;
  }

  /**
   * Parses a text.
   *
   * @throws IllegalArgumentException if the text is not JSON; the message contains the position
   */
  public static Object read(String text) {
    JsonReader reader = new JsonReader(text);
    Object value = reader.value(0);
    reader.skipSpace();
    reader.require(reader.at == text.length(), "unexpected text after the value");
    return value;
  }

  private Object value(int depth) {
    require(depth <= MAX_DEPTH, "too many nested values");
    skipSpace();
    require(at < text.length(), "unexpected end of text");
    switch (text.charAt(at)) {
      case '{':
        return object(depth);
      case '[':
        return list(depth);
      case '"':
        return string();
      case 't':
        return word("true", Boolean.TRUE);
      case 'f':
        return word("false", Boolean.FALSE);
      case 'n':
        return word("null", null);
      default:
        return number();
    }
  }

  private Map<String, Object> object(int depth) {
    Map<String, Object> map = new LinkedHashMap<>();
    at++;
    if (next('}')) {
      return map;
    }
    do {
      skipSpace();
      require(at < text.length() && text.charAt(at) == '"', "a key is expected");
      String key = string();
      require(next(':'), "a colon is expected");
      require(!map.containsKey(key), "the key " + key + " is a duplicate");
      map.put(key, value(depth + 1));
    } while (next(','));
    require(next('}'), "a closing brace is expected");
    return map;
  }

  private List<Object> list(int depth) {
    List<Object> list = new ArrayList<>();
    at++;
    if (next(']')) {
      return list;
    }
    do {
      list.add(value(depth + 1));
    } while (next(','));
    require(next(']'), "a closing bracket is expected");
    return list;
  }

  private String string() {
    StringBuilder out = new StringBuilder();
    at++;
    while (true) {
      require(at < text.length(), "a string is not closed");
      char c = text.charAt(at++);
      if (c == '"') {
        return out.toString();
      }
      require(c >= 0x20, "a control character in a string");
      out.append(c == '\\' ? escaped() : c);
    }
  }

  private char escaped() {
    require(at < text.length(), "a string is not closed");
    char c = text.charAt(at++);
    int simple = "\"\\/bfnrt".indexOf(c);
    if (simple >= 0) {
      return "\"\\/\b\f\n\r\t".charAt(simple);
    }
    require(c == 'u' && at + 4 <= text.length(), "an unknown escape");
    int code = 0;
    for (int i = 0; i < 4; i++) {
      int digit = Character.digit(text.charAt(at++), 16);
      require(digit >= 0, "an unknown escape");
      code = code * 16 + digit;
    }
    return (char) code;
  }

  private Object number() {
    int start = at;
    while (at < text.length() && "+-.0123456789eE".indexOf(text.charAt(at)) >= 0) {
      at++;
    }
    String digits = text.substring(start, at);
    require(
        digits.matches("-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][+-]?[0-9]+)?"), "a value is expected");
    try {
      return Long.valueOf(digits);
    } catch (NumberFormatException fraction) {
      return Double.valueOf(digits);
    }
  }

  private Object word(String word, Object value) {
    require(text.startsWith(word, at), "a value is expected");
    at += word.length();
    return value;
  }

  private boolean next(char expected) {
    skipSpace();
    boolean found = at < text.length() && text.charAt(at) == expected;
    if (found) {
      at++;
    }
    return found;
  }

  private void skipSpace() {
    while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) {
      at++;
    }
  }

  private void require(boolean holds, String otherwise) {
    if (!holds) {
      throw new IllegalArgumentException("invalid JSON at character " + at + ": " + otherwise);
    }
  }
}
