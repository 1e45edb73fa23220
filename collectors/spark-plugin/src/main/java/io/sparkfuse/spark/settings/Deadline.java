package io.sparkfuse.spark.settings;

import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.time.zone.ZoneOffsetTransition;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Reads {@code spark.sparkfuse.deadline} as detection does; contracts/shared/deadlines.yaml has the
 * test cases of both.
 */
public final class Deadline {
  private static final int MOST_CHARS = 100;
  private static final long DAY_MS = 86_400_000;
  private static final long MOST_AHEAD_MS = 366 * DAY_MS;
  private static final Pattern TIME_OF_DAY =
      Pattern.compile("(\\d{1,2}):(\\d{2})(?::(\\d{2}))?\\s*(\\S.*)");
  private static final Pattern DATE_AND_TIME =
      Pattern.compile(
          "(\\d{4})-?(\\d{2})-?(\\d{2})[T ](\\d{2}):?(\\d{2})(?::?(\\d{2}))?\\s*(\\S.*)");
  private static final Pattern OFFSET = Pattern.compile("(?:UTC|GMT)?([+-]\\d{2}):?(\\d{2})?");
  private static final Pattern ISO_DURATION =
      Pattern.compile(
          "P(?:(\\d+(?:\\.\\d+)?)D)?(?:T(?:(\\d+(?:\\.\\d+)?)H)?(?:(\\d+(?:\\.\\d+)?)M)?"
              + "(?:(\\d+(?:\\.\\d+)?)S)?)?",
          Pattern.CASE_INSENSITIVE);
  private static final Pattern DURATION =
      Pattern.compile(
          "(?:(\\d+(?:\\.\\d+)?)\\s*d(?:ays?)?)?\\s*(?:(\\d+(?:\\.\\d+)?)\\s*h(?:ours?)?)?\\s*"
              + "(?:(\\d+(?:\\.\\d+)?)\\s*m(?:in(?:utes?)?)?)?\\s*"
              + "(?:(\\d+(?:\\.\\d+)?)\\s*s(?:ec(?:onds?)?)?)?",
          Pattern.CASE_INSENSITIVE);
  private static final long[] UNITS_MS = {DAY_MS, 3_600_000, 60_000, 1_000};

  private Deadline() {}

  /**
   * Returns the time from the start of the application to its deadline in ms, or null without a
   * valid deadline. Never throws.
   */
  public static Long allowedMs(String text, long startedMs) {
    String value = text.trim();
    if (value.isEmpty() || value.length() > MOST_CHARS) {
      return null;
    }
    try {
      Long allowed = durationMs(value);
      if (allowed == null) {
        allowed = timeOfDayMs(value, startedMs);
      }
      if (allowed == null) {
        allowed = dateAndTimeMs(value, startedMs);
      }
      return allowed == null || allowed <= 0 || allowed > MOST_AHEAD_MS ? null : allowed;
    } catch (RuntimeException invalid) { // detection logs the valid forms
      return null;
    }
  }

  private static Long durationMs(String value) {
    for (Pattern pattern : Arrays.asList(ISO_DURATION, DURATION)) {
      Matcher found = pattern.matcher(value);
      if (!found.matches()) {
        continue;
      }
      double sum = 0;
      boolean any = false;
      for (int unit = 0; unit < UNITS_MS.length; unit++) {
        String amount = found.group(unit + 1);
        any |= amount != null;
        sum += amount == null ? 0 : Double.parseDouble(amount) * UNITS_MS[unit];
      }
      return any ? Math.round(sum) : null;
    }
    return null;
  }

  /**
   * Returns the time in ms from the application's start to the next occurrence of a time of day.
   */
  private static Long timeOfDayMs(String value, long startedMs) {
    Matcher found = TIME_OF_DAY.matcher(value);
    if (!found.matches()) {
      return null;
    }
    ZoneId zone = zone(found.group(4));
    LocalTime time = LocalTime.of(number(found.group(1)), number(found.group(2)), second(found, 3));
    LocalDate today = Instant.ofEpochMilli(startedMs).atZone(zone).toLocalDate();
    long first = Long.MAX_VALUE;
    for (int days = -1; days <= 2; days++) {
      LocalDateTime local = today.plusDays(days).atTime(time);
      for (ZoneOffset offset : offsets(zone, local)) {
        long left = local.toInstant(offset).toEpochMilli() - startedMs;
        first = left > 0 ? Math.min(first, left) : first;
      }
    }
    return first;
  }

  /**
   * Returns the UTC offsets of a local time. If the clock change of daylight saving time makes the
   * local time occur twice or not at all, returns the offsets before and after the change.
   */
  private static List<ZoneOffset> offsets(ZoneId zone, LocalDateTime local) {
    ZoneOffsetTransition change = zone.getRules().getTransition(local);
    return change == null
        ? zone.getRules().getValidOffsets(local)
        : Arrays.asList(change.getOffsetBefore(), change.getOffsetAfter());
  }

  private static Long dateAndTimeMs(String value, long startedMs) {
    Matcher found = DATE_AND_TIME.matcher(value);
    if (!found.matches()) {
      return null;
    }
    LocalDate date =
        LocalDate.parse(
            found.group(1) + found.group(2) + found.group(3), DateTimeFormatter.BASIC_ISO_DATE);
    LocalTime time = LocalTime.of(number(found.group(4)), number(found.group(5)), second(found, 6));
    return date.atTime(time).atZone(zone(found.group(7))).toInstant().toEpochMilli() - startedMs;
  }

  private static ZoneId zone(String value) {
    if (value.equals("Z") || value.equals("z")) {
      return ZoneOffset.UTC;
    }
    Matcher offset = OFFSET.matcher(value);
    if (offset.matches()) {
      String minutes = offset.group(2) == null ? "00" : offset.group(2);
      return ZoneOffset.of(offset.group(1) + ":" + minutes);
    }
    return ZoneId.of(value);
  }

  private static int second(Matcher found, int group) {
    return found.group(group) == null ? 0 : number(found.group(group));
  }

  private static int number(String digits) {
    return Integer.parseInt(digits);
  }
}
