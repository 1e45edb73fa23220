package io.sparkfuse.spark.hook;

import io.sparkfuse.spark.facts.Application;
import io.sparkfuse.spark.json.JsonReader;
import io.sparkfuse.spark.json.JsonWriter;
import io.sparkfuse.spark.safety.FaultCounter;
import io.sparkfuse.spark.settings.PluginSettings.FuseMode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * Runs real hooks over a broker, a clock and counters that another process controls. It reads one
 * JSON object a line from standard input and answers each with one line on standard output.
 *
 * <p>Commands, by {@code do}; {@code hook} names the hook:
 *
 * <ul>
 *   <li>{@code start}: {@code cluster}, {@code app_id}, {@code attempt}, {@code start_ms}, {@code
 *       keys} and {@code policies} as in the settings of the plugin, {@code mode}, and optionally
 *       {@code without}, a gate to leave out. Replaces the hook of this name.
 *   <li>{@code set}: any of {@code clock_ms} (monotonic), {@code broker_ms}, {@code broker} and
 *       {@code controls} (whether they answer), {@code columns} (null if the stage does not run),
 *       {@code progress_age_ms}, {@code dropped_events}, {@code direct}, {@code hold} (of the job).
 *   <li>{@code control}: a record of the topic controls: {@code key}, {@code value}, {@code
 *       appended_ms}.
 *   <li>{@code deliver}: a record of the topic signals, with the same fields.
 * </ul>
 *
 * <p>The answer has {@code receipts} and {@code acts} since the last answer for this hook, and
 * {@code faults}, the number of exceptions that the hook caught.
 */
public final class HookSimulator {
  private static final class Simulated {
    final PublicKeys keys;
    final InMemoryEdge edge;
    final FaultCounter faults = new FaultCounter("the simulation");
    final FuseState state;
    final Hook hook;

    Simulated(Map<?, ?> command) {
      keys = PublicKeys.of(text(command, "keys"));
      edge = new InMemoryEdge(keys);
      state =
          new FuseState(FuseMode.valueOf(text(command, "mode").toUpperCase(Locale.ROOT)), false);
      Application own =
          new Application(
              text(command, "cluster"),
              "tenant",
              text(command, "app_id"),
              (int) whole(command, "attempt"),
              whole(command, "start_ms"));
      List<Gates.Gate> gates =
          command.get("without") == null ? Gates.ALL : Gates.without(text(command, "without"));
      String[] lines = text(command, "policies").split("\n");
      hook = new Hook(own, keys, PolicyBook.of(lines), state, edge.edge(), faults, gates);
    }
  }

  private final Map<String, Simulated> hooks = new LinkedHashMap<>();

  private HookSimulator() {}

  public static void main(String[] arguments) throws Exception {
    PrintStream out = new PrintStream(System.out, false, "UTF-8");
    System.setOut(System.err); // the log of the hook must not disturb the answers
    HookSimulator simulator = new HookSimulator();
    BufferedReader in =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8), 1 << 16);
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      out.println(simulator.answer((Map<?, ?>) JsonReader.read(line)));
      out.flush();
    }
  }

  private String answer(Map<?, ?> command) {
    String name = text(command, "hook");
    switch (text(command, "do")) {
      case "start":
        hooks.put(name, new Simulated(command));
        break;
      case "set":
        set(hooks.get(name), command);
        break;
      case "control":
        InMemoryEdge edge = hooks.get(name).edge;
        edge.book.put(
            text(command, "key"), text(command, "value"), whole(command, "appended_ms"), true);
        break;
      case "deliver":
        deliver(hooks.get(name), command);
        break;
      default:
        throw new IllegalArgumentException("there is no command " + command);
    }
    return drain(hooks.get(name));
  }

  private static void set(Simulated simulated, Map<?, ?> command) {
    InMemoryEdge edge = simulated.edge;
    if (command.containsKey("clock_ms")) {
      long brokerMs = edge.brokerMs();
      edge.clockMs = whole(command, "clock_ms");
      edge.brokerAheadMs = brokerMs - edge.clockMs;
    }
    if (command.containsKey("broker_ms")) {
      edge.brokerAheadMs = whole(command, "broker_ms") - edge.clockMs;
    }
    if (command.containsKey("broker")) {
      edge.brokerReachable = Boolean.TRUE.equals(command.get("broker"));
    }
    if (command.containsKey("controls")) {
      edge.controlsReachable = Boolean.TRUE.equals(command.get("controls"));
    }
    if (command.containsKey("hold")) {
      simulated.state.setHold(Boolean.TRUE.equals(command.get("hold")));
    }
    edge.observed = observation(edge.observed, command);
  }

  private static Observation observation(Observation before, Map<?, ?> command) {
    Observation now = new Observation();
    now.columns = before.columns;
    now.progressAgeMs = before.progressAgeMs;
    now.droppedEvents = before.droppedEvents;
    now.directTransport = before.directTransport;
    if (command.containsKey("columns")) {
      now.columns = new LinkedHashMap<>();
      Map<?, ?> columns = (Map<?, ?>) command.get("columns");
      if (columns != null) {
        columns.forEach((column, value) -> now.columns.put((String) column, (Long) value));
      }
    }
    if (command.containsKey("progress_age_ms")) {
      now.progressAgeMs = whole(command, "progress_age_ms");
    }
    if (command.containsKey("dropped_events")) {
      now.droppedEvents = whole(command, "dropped_events");
    }
    if (command.containsKey("direct")) {
      now.directTransport = Boolean.TRUE.equals(command.get("direct"));
    }
    return now;
  }

  private static void deliver(Simulated simulated, Map<?, ?> command) {
    simulated.hook.receive(
        new SignalRecord(
            text(command, "key"), text(command, "value"), whole(command, "appended_ms"), true));
  }

  private static String drain(Simulated simulated) {
    Map<String, Object> answer = new LinkedHashMap<>();
    answer.put("receipts", new ArrayList<Object>(simulated.edge.receipts));
    answer.put("acts", new ArrayList<Object>(simulated.edge.acts));
    answer.put("faults", simulated.faults.count());
    simulated.edge.receipts.clear();
    simulated.edge.acts.clear();
    return JsonWriter.write(answer);
  }

  private static String text(Map<?, ?> command, String key) {
    return (String) command.get(key);
  }

  private static long whole(Map<?, ?> command, String key) {
    return (Long) command.get(key);
  }
}
