package io.sparkfuse.spark.hook;

/**
 * Patterns in shell style with {@code *} and {@code ?} only; {@code [} is an ordinary character.
 */
final class Patterns {
  private Patterns() {}

  /** Returns whether the whole text matches; an empty pattern matches everything. */
  static boolean matches(String pattern, String text) {
    if (pattern.isEmpty()) {
      return true;
    }
    int p = 0;
    int t = 0;
    int star = -1;
    int retry = 0;
    while (t < text.length()) {
      if (p < pattern.length() && pattern.charAt(p) == '*') {
        star = p++;
        retry = t;
      } else if (p < pattern.length()
          && (pattern.charAt(p) == '?' || pattern.charAt(p) == text.charAt(t))) {
        p++;
        t++;
      } else if (star >= 0) {
        p = star + 1;
        t = ++retry;
      } else {
        return false;
      }
    }
    while (p < pattern.length() && pattern.charAt(p) == '*') {
      p++;
    }
    return p == pattern.length();
  }
}
