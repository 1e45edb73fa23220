package io.sparkfuse.spark.hook;

import io.sparkfuse.spark.json.JsonReader;
import java.util.Collections;
import java.util.List;
import java.util.Map;

/**
 * The fields of one JSON object. An absent field has a default value; a field of the wrong type
 * causes an IllegalArgumentException.
 */
final class JsonFields {
  private final Map<?, ?> map;

  private JsonFields(Map<?, ?> map) {
    this.map = map;
  }

  static JsonFields read(String json, String what) {
    return of(JsonReader.read(json), what);
  }

  static JsonFields of(Object value, String what) {
    require(value instanceof Map, "expected a JSON object for " + what);
    return new JsonFields((Map<?, ?>) value);
  }

  boolean has(String key) {
    return map.get(key) != null;
  }

  String text(String key) {
    Object value = map.get(key);
    require(value == null || value instanceof String, key + " is not a string");
    return value == null ? "" : (String) value;
  }

  long whole(String key) {
    Object value = map.get(key);
    require(value == null || value instanceof Long, key + " is not a whole number");
    return value == null ? 0 : (Long) value;
  }

  int small(String key) {
    long value = whole(key);
    require(value == (int) value, key + " is too large");
    return (int) value;
  }

  double number(String key) {
    Object value = map.get(key);
    // The JSON of proto3 omits fields that are not set, so an absent field is 0; a field that is
    // set to 0 is written.
    require(value == null || value instanceof Number, key + " is not a number");
    return value == null ? 0 : ((Number) value).doubleValue();
  }

  boolean flag(String key) {
    Object value = map.get(key);
    require(value == null || value instanceof Boolean, key + " is not true or false");
    return value != null && (Boolean) value;
  }

  List<?> list(String key) {
    Object value = map.get(key);
    require(value == null || value instanceof List, key + " is not a list");
    return value == null ? Collections.emptyList() : (List<?>) value;
  }

  JsonFields object(String key) {
    return of(map.get(key), key);
  }

  Map<?, ?> map() {
    return map;
  }

  static void require(boolean holds, String otherwise) {
    if (!holds) {
      throw new IllegalArgumentException(otherwise);
    }
  }
}
