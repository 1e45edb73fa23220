package io.sparkfuse.spark.json;

import java.util.Map;

/** Writes small JSON texts: strings, integers, booleans, lists and maps, without nulls. */
public final class JsonWriter {
  private JsonWriter() {}

  /**
   * Returns the JSON of a map, list, string, number or boolean; null values in maps are omitted.
   */
  public static String write(Object value) {
    StringBuilder out = new StringBuilder(256);
    append(out, value);
    return out.toString();
  }

  private static void append(StringBuilder out, Object value) {
    if (value instanceof Map) {
      appendMap(out, (Map<?, ?>) value);
    } else if (value instanceof Iterable) {
      appendList(out, (Iterable<?>) value);
    } else if (value instanceof Number || value instanceof Boolean) {
      out.append(value);
    } else {
      appendText(out, String.valueOf(value));
    }
  }

  private static void appendMap(StringBuilder out, Map<?, ?> map) {
    String separator = "{";
    for (Map.Entry<?, ?> entry : map.entrySet()) {
      if (entry.getValue() != null) {
        out.append(separator);
        appendText(out, String.valueOf(entry.getKey()));
        out.append(':');
        append(out, entry.getValue());
        separator = ",";
      }
    }
    out.append(separator.equals("{") ? "{}" : "}");
  }

  private static void appendList(StringBuilder out, Iterable<?> list) {
    out.append('[');
    String separator = "";
    for (Object each : list) {
      out.append(separator);
      append(out, each);
      separator = ",";
    }
    out.append(']');
  }

  private static void appendText(StringBuilder out, String text) {
    out.append('"');
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      if (c == '"' || c == '\\') {
        out.append('\\').append(c);
      } else if (c < 0x20 || c > 0x7e) {
        out.append(String.format("\\u%04x", (int) c));
      } else {
        out.append(c);
      }
    }
    out.append('"');
  }
}
