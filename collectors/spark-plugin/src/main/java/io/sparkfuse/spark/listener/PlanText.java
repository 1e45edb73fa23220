package io.sparkfuse.spark.listener;

import java.util.ArrayList;
import java.util.List;

/** Reads words, lists and brackets in the texts of plan nodes. */
final class PlanText {
  private PlanText() {}

  /** Returns the text after a marker, up to one of the given end characters. */
  static String valueAfter(String text, String marker, String ends) {
    int start = text.indexOf(marker);
    if (start < 0) {
      return "";
    }
    int end = start + marker.length();
    while (end < text.length() && ends.indexOf(text.charAt(end)) < 0) {
      end++;
    }
    return text.substring(start + marker.length(), end);
  }

  /** Returns the text between the bracket at {@code open} and its closing bracket. */
  static String inside(String text, int open) {
    int depth = 0;
    for (int i = open; i < text.length(); i++) {
      char c = text.charAt(i);
      depth += c == '(' || c == '[' ? 1 : c == ')' || c == ']' ? -1 : 0;
      if (depth == 0) {
        return text.substring(open + 1, i);
      }
    }
    return text.substring(open + 1);
  }

  /** Returns the text from {@code start}, without a comma at its beginning. */
  static String after(String text, int start) {
    String rest = text.substring(Math.min(start, text.length())).trim();
    return rest.startsWith(",") ? rest.substring(1).trim() : rest;
  }

  /** Splits a text at the commas outside brackets. */
  static List<String> split(String text) {
    List<String> parts = new ArrayList<>();
    int depth = 0;
    int start = 0;
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      depth += c == '(' || c == '[' ? 1 : c == ')' || c == ']' ? -1 : 0;
      if (c == ',' && depth <= 0) {
        parts.add(text.substring(start, i).trim());
        start = i + 1;
      }
    }
    parts.add(text.substring(start).trim());
    return parts;
  }

  static String firstWord(String text) {
    int end = 0;
    while (end < text.length() && text.charAt(end) > ' ') {
      end++;
    }
    return text.substring(0, end);
  }

  static boolean isWord(String text) {
    for (int i = 0; i < text.length(); i++) {
      if (!isWordChar(text.charAt(i))) {
        return false;
      }
    }
    return !text.isEmpty();
  }

  static boolean isWordChar(char c) {
    boolean letter = c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z';
    return letter || isDigit(c) || c == '_' || c >= 0x80;
  }

  static boolean isDigit(char c) {
    return c >= '0' && c <= '9';
  }

  /**
   * Returns the first characters of a text, without cutting a character that takes two Java chars.
   */
  static String beginning(String text, int chars) {
    if (text.length() <= chars || text.codePointCount(0, text.length()) <= chars) {
      return text;
    }
    return text.substring(0, text.offsetByCodePoints(0, chars));
  }
}
