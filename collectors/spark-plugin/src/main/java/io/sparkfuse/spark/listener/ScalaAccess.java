package io.sparkfuse.spark.listener;

import io.sparkfuse.spark.safety.PluginLog;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Reads values whose types differ between versions of Spark and Scala. Never throws.
 *
 * <p>A getter that returns a Scala Seq has different descriptors in Scala 2.12 and 2.13, so a
 * direct call fails with NoSuchMethodError on one of them. This class finds getters by name and
 * iterates collections as Iterable, which works with both versions.
 */
public final class ScalaAccess {
  private static final Object MISSING = new Object();
  private static final ClassValue<ConcurrentHashMap<String, Object>> GETTERS =
      new ClassValue<ConcurrentHashMap<String, Object>>() {
        @Override
        protected ConcurrentHashMap<String, Object> computeValue(Class<?> type) {
          return new ConcurrentHashMap<>();
        }
      };

  private ScalaAccess() {}

  /** Returns the value of a getter without arguments, or null if there is no such getter. */
  public static Object get(Object target, String getter) {
    if (target == null) {
      return null;
    }
    ConcurrentHashMap<String, Object> getters = GETTERS.get(target.getClass());
    Object found = getters.get(getter);
    if (found == null) {
      found = find(target.getClass(), getter);
      getters.put(getter, found);
    }
    if (found == MISSING) {
      return null;
    }
    try {
      return ((Method) found).invoke(target);
    } catch (Throwable fault) { // the field stays absent
      PluginLog.warnOncePerMinute("cannot read " + getter, fault);
      return null;
    }
  }

  private static Object find(Class<?> type, String getter) {
    try {
      Method method = type.getMethod(getter);
      method.setAccessible(true);
      return method;
    } catch (Throwable missing) {
      // this version of Spark has no such getter
      return MISSING;
    }
  }

  /**
   * Returns up to {@code most} elements of a Scala collection, or an empty list for any other
   * object.
   */
  public static List<Object> list(Object collection, int most) {
    if (!(collection instanceof scala.collection.Iterable)) {
      return Collections.emptyList();
    }
    List<Object> elements = new ArrayList<>();
    scala.collection.Iterator<?> iterator = ((scala.collection.Iterable<?>) collection).iterator();
    while (elements.size() < most && iterator.hasNext()) {
      elements.add(iterator.next());
    }
    return elements;
  }

  /** Returns the value of an Option, or null. */
  public static Object option(Object option) {
    boolean defined = option instanceof scala.Option && ((scala.Option<?>) option).isDefined();
    return defined ? ((scala.Option<?>) option).get() : null;
  }

  /** Returns the value of a getter as text, or null if there is none. */
  public static String text(Object target, String getter) {
    Object value = get(target, getter);
    return value == null ? null : value.toString();
  }

  /** Returns the number that a getter returns, or {@code otherwise}. */
  public static long number(Object target, String getter, long otherwise) {
    return number(get(target, getter), otherwise);
  }

  /** Returns the value if it is a number, else {@code otherwise}. */
  public static long number(Object value, long otherwise) {
    return value instanceof Number ? ((Number) value).longValue() : otherwise;
  }
}
