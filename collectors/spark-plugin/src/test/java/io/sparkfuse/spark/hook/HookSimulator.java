package io.sparkfuse.spark.hook;

import io.sparkfuse.contracts.Signal;
import io.sparkfuse.spark.facts.Application;
import io.sparkfuse.spark.json.JsonReader;
import io.sparkfuse.spark.json.JsonWriter;
import io.sparkfuse.spark.safety.FaultCounter;
import io.sparkfuse.spark.settings.PluginSettings.FuseMode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.security.interfaces.ECPublicKey;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;

/**
 * Runs real hooks with clocks, counters and receipts in memory, for simulations in other languages.
 *
 * <p>Each line of standard input is a command: one JSON object with the name of the command in the
 * field {@code do}. Each command is answered with one line of JSON on standard output, in order.
 * The field {@code hook} selects one of several hooks and is an empty string by default. The class
 * path is {@code target/test-classes}, {@code target/classes} and the class path of the tests
 * ({@code mvn dependency:build-classpath}).
 *
 * <table>
 *   <caption>Commands and their fields (default in brackets); an absent field without a default
 *     keeps its last value</caption>
 *   <tr><td>configure</td><td>starts a new hook; fields: cluster, app_id, app_attempt,
 *     app_start_ms, keys (as spark.sparkfuse.fuse.publicKeys), policies (list of lines), mode (off,
 *     warn or act), hold (false), without (name of a gate that is left out), signatures (ecdsa). If
 *     signatures is digest, a signature is the base64 of the SHA-256 of the public key in DER form
 *     and the signed text, so that a schedule costs no time for cryptography.</td></tr>
 *   <tr><td>time</td><td>sets clock_ms (the driver's monotonic clock) and broker_ms (the broker's
 *     time now, which then advances with clock_ms)</td></tr>
 *   <tr><td>broker</td><td>sets reachable, and acknowledgement_ms (the time that each
 *     acknowledgement takes)</td></tr>
 *   <tr><td>counters</td><td>sets the driver's counters: columns (object; empty if the stage is not
 *     running), progress_age_ms, dropped_events, skipped_events, overflowed, direct_transport,
 *     stage_jobs, query_jobs, stage_tasks (lists of ids), query_owners, shared_by (text); an absent
 *     field is 0, false or empty</td></tr>
 *   <tr><td>controls</td><td>sets whether the topic controls is reachable, forgets all records if
 *     clear is true (as a new consumer does), and adds records: a list of key, value (text; null
 *     deletes), timestamp_ms, appended (true)</td></tr>
 *   <tr><td>outcome</td><td>sets what acts return: ended, freed, unfreed; or fault, a text that
 *     acts throw</td></tr>
 *   <tr><td>job</td><td>does what job code can do: sets the hold (hold is true or false), or closes
 *     the fuse (reset is true)</td></tr>
 *   <tr><td>deliver</td><td>delivers one record of the topic signals: key, value, timestamp_ms,
 *     appended (true), and meanwhile: a list of lists of commands; the first list runs before the
 *     first acknowledgement, the second before the second</td></tr>
 * </table>
 *
 * <p>The answer to {@code deliver} has the fields {@code receipts} (list of receipts in the order
 * of writing), {@code acts} (list of objects with action, signal_id and the target), {@code shown}
 * (the number of warnings), {@code collector} (the switches, as actions) and {@code faults}. The
 * answer to {@code job} is the state for job code; the answer to other commands is {@code
 * {"ok":true}}. If a command fails, the answer has the field {@code error}, and nothing else
 * changes.
 */
public final class HookSimulator {
  private static final class Simulation {
    private PublicKeys keys;
    private InMemoryEdge edge;
    private FuseState state;
    private FaultCounter faults;
    private Hook hook;
  }

  /** Accepts as the signature a digest of the public key and the signed text. */
  private static final class DigestKeys extends PublicKeys {
    @Override
    boolean verifies(ECPublicKey key, String text, String signature) {
      try {
        MessageDigest digest = MessageDigest.getInstance("SHA-256");
        digest.update(key.getEncoded());
        byte[] expected = digest.digest(text.getBytes(StandardCharsets.UTF_8));
        return Base64.getEncoder().encodeToString(expected).equals(signature);
      } catch (NoSuchAlgorithmException missing) { // each JVM must have it
        throw new IllegalStateException(missing);
      }
    }
  }

  private final Map<String, Simulation> simulations = new HashMap<>();
  private final Map<String, PublicKeys> digestKeys = new HashMap<>();
  private final Map<String, PublicKeys> realKeys = new HashMap<>();
  private final Map<List<String>, PolicyBook> policies = new HashMap<>();

  HookSimulator() {}

  public static void main(String[] arguments) throws IOException {
    HookSimulator simulator = new HookSimulator();
    BufferedReader in =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    PrintStream out = new PrintStream(System.out, false, "UTF-8");
    // Answers are the only text on standard output.
    System.setOut(System.err);
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      out.print(JsonWriter.write(simulator.answer(line)) + "\n");
      if (!in.ready()) {
        out.flush();
      }
    }
    out.flush();
  }

  Map<String, Object> answer(String line) {
    try {
      return execute(JsonReader.read(line));
    } catch (RuntimeException fault) {
      return Collections.singletonMap("error", String.valueOf(fault.getMessage()));
    }
  }

  private Map<String, Object> execute(Object json) {
    JsonFields command = JsonFields.of(json, "a command");
    String action = command.text("do");
    if (action.equals("configure")) {
      simulations.put(command.text("hook"), configured(command));
      return ok();
    }
    Simulation simulation = simulations.get(command.text("hook"));
    JsonFields.require(simulation != null, "the hook is not configured");
    switch (action) {
      case "time":
        time(simulation.edge, command);
        return ok();
      case "broker":
        broker(simulation.edge, command);
        return ok();
      case "counters":
        simulation.edge.observed = observation(command);
        return ok();
      case "controls":
        controls(simulation, command);
        return ok();
      case "outcome":
        outcome(simulation.edge, command);
        return ok();
      case "job":
        return job(simulation.state, command);
      case "deliver":
        return deliver(simulation, command);
      default:
        throw new IllegalArgumentException("there is no command " + action);
    }
  }

  private static Map<String, Object> ok() {
    return Collections.singletonMap("ok", true);
  }

  private Simulation configured(JsonFields command) {
    Simulation simulation = new Simulation();
    // Keys and policies never change, so hooks share them and a schedule does not parse them again.
    simulation.keys =
        command.text("signatures").equals("digest")
            ? digestKeys.computeIfAbsent(command.text("keys"), text -> new DigestKeys().with(text))
            : realKeys.computeIfAbsent(command.text("keys"), PublicKeys::of);
    simulation.edge = new InMemoryEdge(simulation.keys);
    FuseMode mode = FuseMode.valueOf(command.text("mode").toUpperCase(Locale.ROOT));
    simulation.state = new FuseState(mode, command.flag("hold"));
    simulation.faults = new FaultCounter("the simulation");
    Application application =
        new Application(
            command.text("cluster"),
            "default",
            command.text("app_id"),
            command.small("app_attempt"),
            command.whole("app_start_ms"));
    List<String> lines =
        command.list("policies").stream().map(String::valueOf).collect(Collectors.toList());
    simulation.hook =
        new Hook(
            application,
            simulation.keys,
            policies.computeIfAbsent(lines, PolicyBook::of),
            simulation.state,
            simulation.edge.edge(),
            simulation.faults,
            command.has("without") ? Gates.without(command.text("without")) : Gates.ALL);
    return simulation;
  }

  private static void time(InMemoryEdge edge, JsonFields command) {
    long brokerMs = command.has("broker_ms") ? command.whole("broker_ms") : edge.brokerMs();
    edge.clockMs = command.has("clock_ms") ? command.whole("clock_ms") : edge.clockMs;
    edge.brokerAheadMs = brokerMs - edge.clockMs;
  }

  private static void broker(InMemoryEdge edge, JsonFields command) {
    if (command.has("reachable")) {
      edge.brokerReachable = command.flag("reachable");
    }
    if (command.has("acknowledgement_ms")) {
      edge.acknowledgementMs = command.whole("acknowledgement_ms");
    }
  }

  private static Observation observation(JsonFields command) {
    Observation observed = new Observation();
    Map<String, Long> columns = new LinkedHashMap<>();
    if (command.has("columns")) {
      JsonFields values = command.object("columns");
      values.map().keySet().forEach(key -> columns.put((String) key, values.whole((String) key)));
    }
    observed.columns = columns;
    observed.progressAgeMs = command.whole("progress_age_ms");
    observed.droppedEvents = command.whole("dropped_events");
    observed.skippedEvents = command.flag("skipped_events");
    observed.overflowed = command.flag("overflowed");
    observed.directTransport = command.flag("direct_transport");
    observed.stageJobs = ids(command, "stage_jobs");
    observed.queryJobs = ids(command, "query_jobs");
    observed.stageTasks = new TreeSet<>();
    command.list("stage_tasks").forEach(task -> observed.stageTasks.add((Long) task));
    observed.queryOwners = command.small("query_owners");
    observed.sharedBy = command.has("shared_by") ? command.text("shared_by") : null;
    return observed;
  }

  private static Set<Integer> ids(JsonFields command, String key) {
    return command.list(key).stream()
        .map(id -> ((Long) id).intValue())
        .collect(Collectors.toCollection(TreeSet::new));
  }

  private static void controls(Simulation simulation, JsonFields command) {
    if (command.has("reachable")) {
      simulation.edge.controlsReachable = command.flag("reachable");
    }
    if (command.flag("clear")) {
      simulation.edge.book = new ControlBook(simulation.keys);
    }
    for (Object each : command.list("records")) {
      JsonFields entry = JsonFields.of(each, "a record");
      simulation.edge.book.put(
          entry.text("key"),
          entry.has("value") ? entry.text("value") : null,
          entry.whole("timestamp_ms"),
          appended(entry));
    }
  }

  private static boolean appended(JsonFields entry) {
    return !entry.has("appended") || entry.flag("appended");
  }

  private static void outcome(InMemoryEdge edge, JsonFields command) {
    edge.fault = command.has("fault") ? new IllegalStateException(command.text("fault")) : null;
    edge.result =
        new ActResult(
            command.flag("ended"), command.whole("freed"), command.whole("unfreed"), "simulated");
  }

  private static Map<String, Object> job(FuseState state, JsonFields command) {
    if (command.has("hold")) {
      state.setHold(command.flag("hold"));
    }
    if (command.flag("reset")) {
      state.reset();
    }
    return Collections.singletonMap("state", JsonReader.read(state.toJson()));
  }

  private Map<String, Object> deliver(Simulation simulation, JsonFields command) {
    InMemoryEdge edge = simulation.edge;
    edge.receipts.clear();
    edge.acts.clear();
    edge.signals.clear();
    List<Object> waits = new ArrayList<>(command.list("meanwhile"));
    edge.whileWaiting =
        () -> {
          if (!waits.isEmpty()) {
            ((List<?>) waits.remove(0)).forEach(this::execute);
          }
        };
    long faults = simulation.faults.count();
    simulation.hook.receive(
        new SignalRecord(
            command.text("key"),
            command.text("value"),
            command.whole("timestamp_ms"),
            appended(command)));
    Map<String, Object> answer = new LinkedHashMap<>();
    answer.put("receipts", new ArrayList<>(edge.receipts));
    answer.put("acts", edge.signals.stream().map(HookSimulator::act).collect(Collectors.toList()));
    answer.put("shown", edge.acts.stream().filter(Actions.WARN::equals).count());
    answer.put(
        "collector", edge.acts.stream().filter(Actions::isSwitch).collect(Collectors.toList()));
    answer.put("faults", simulation.faults.count() - faults);
    return answer;
  }

  private static Map<String, Object> act(Signal signal) {
    Map<String, Object> act = new LinkedHashMap<>();
    act.put("action", signal.getAction());
    act.put("signal_id", signal.getSignalId());
    act.put("app_id", signal.getAppId());
    act.put("app_attempt", signal.getAppAttempt());
    act.put("app_start_ms", signal.getAppStartMs());
    act.put("generation", signal.getGeneration());
    act.put("stage_id", signal.hasStageId() ? signal.getStageId() : null);
    act.put("stage_attempt", signal.hasStageAttempt() ? signal.getStageAttempt() : null);
    act.put("query_id", signal.hasQueryId() ? signal.getQueryId() : null);
    act.put("task_id", signal.hasTaskId() ? signal.getTaskId() : null);
    return act;
  }
}
