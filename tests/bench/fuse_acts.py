"""Measures the time from evidence that satisfies a rule until the tasks have ended, for each action of the hook.

Everything between evidence and end is real: the plugin's samples, Kafka, the windows and the detect job, the fuse
controller in mode act, the hook, and the kill by Spark. Each act needs an application of its own; a JVM runs several
applications, one after the other. The rules match if the counters of a task have not changed for four seconds. Two
times are measured: one from the first sample of the plugin that satisfies the rule, the other from the moment at which
the task itself satisfies it. The second time includes the delay until the next sample.
"""

from __future__ import annotations

import dataclasses
import os
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from sparkfuse.demo import spark_job
from sparkfuse.stack import outputs, services
from sparkfuse.stack.broker import Broker
from sparkfuse.stack.job_properties import job_properties
from sparkfuse.stack.layout import Layout, Ports
from sparkfuse.stack.process import Process
from sparkfuse.stack.supervisor import Supervisor
from sparkfuse.stack.topics import ensure_topics
from sparkfuse_contracts.settings import Settings
from sparkfuse_native_analytics.fuse_controller.keys import APPROVE, load_private_key, private_key_file
from sparkfuse_native_analytics.fuse_operator import orders, state
from sparkfuse_rules.catalog import load_catalog
from sparkfuse_rules.policies import policy_file
from tests.bench.fuse_task_facts import TaskFacts
from tests.waiting import wait_for

ROOT = Path(__file__).parents[2]
JOB = Path(__file__).parent / "jobs" / "fuse_job.py"
ACTIONS = ("kill_task", "cancel_query", "cancel_stage", "cancel_jobs", "stop_application")
TASKS = 2
STALLED_MS = 4_000
SECONDS = 150
# A rule for each action, over the same evidence; its job is the only one for which it is enabled.
RULE = """\
summary: Bench of {action}
view: {view}
when: "{live} >= {stalled}"
severity: critical
for: 0s
description: The counters of a task have not changed for {{{live}:duration}}.
runbook: |
  1. None.
fuse:
  actions: [{action}]
  after: 0s
  needs: ["{counter} >= {stalled}"]
cases:
  - {{name: quiet, given: {{{live}: 0}}, expect: quiet}}
  - {{name: exactly, given: {{{live}: {stalled}}}, expect: critical}}
"""
BUDGETS = ("job_per_hour", "tenant_per_hour", "team_per_hour", "rule_per_hour", "global_per_hour")
# Many applications are stopped here on purpose.
SAFEGUARDS = f"""\
fuse:
  arming: {{probes: 0}}
  budget: {{{", ".join(f"{name}: 100000" for name in BUDGETS)}}}
  big_picture: {{share: 1.0, applications: 100000}}
"""


@dataclasses.dataclass(frozen=True)
class Act:
    """Times of one act [ms]: the rule matches (by task and by sample), the signal is sent, the tasks end."""

    true_ms: int
    sampled_ms: int
    sent_ms: int
    freed_ms: int


def write_rules(folder: Path) -> None:
    """Write one rule for each action."""
    folder.mkdir()
    for action in ACTIONS:
        task = action == "kill_task"
        names = {"view": "task_live", "live": "stalled_ms", "counter": "task_stalled_ms"} if task else {
            "view": "stage_live", "live": "running_stalled_max_ms", "counter": "running_stalled_max_ms"}  # fmt: skip
        (folder / f"bench_{action}.yaml").write_text(RULE.format(action=action, stalled=STALLED_MS, **names))


def configuration() -> str:
    """Return a sparkfuse.yaml that enables each rule for its own job only, in mode act."""
    off = "".join(f"  bench_{action}: {{enabled: false}}\n" for action in ACTIONS)
    on = "".join(
        f"  - {{job: bench_{action}, rules: {{bench_{action}: {{enabled: true, fuse: {{mode: act}}}}}}}}\n"
        for action in ACTIONS
    )
    return f"rules:\n{off}jobs:\n{on}{SAFEGUARDS}"


class Bench:
    """A running pipeline with the rules of this bench, and the jobs that the pipeline stops."""

    def __init__(self, layout: Layout, rules: Path, settings: Settings) -> None:
        self._layout, self._settings, self._facts = (
            layout,
            settings,
            TaskFacts(settings.kafka_bootstrap, STALLED_MS, TASKS),
        )
        self._policies = layout.home / "bench_policies.jsonl"
        of_jobs = (each for rule in load_catalog(rules, settings.config_file).with_fuse() for each in rule.variants)
        self._policies.write_text(policy_file(rule for _, rule in of_jobs if rule))
        operator = orders.Operator("bench", load_private_key(private_key_file(layout.home / "keys", APPROVE)))
        until_ms = (time.time_ns() // 1_000_000) + 86_400_000
        for action in ACTIONS:
            order = orders.arm(orders.Selection(rule=f"bench_{action}"), action, "bench", until_ms)
            orders.give(settings, operator, order)

    def acts(self, action: str, count: int, at_once: int) -> Iterator[Act]:
        """Run applications in several processes at the same time, and yield the act on each application."""
        of_process = -(-count // at_once)
        processes = [self._start(action, number, of_process) for number in range(at_once)]
        try:
            for application in range(of_process):
                for number in range(at_once):
                    try:
                        act = self._act(action, number, application)
                    except TimeoutError as late:  # the table shows how many acts are missing
                        print(f"no act: {late}", flush=True)
                    else:
                        yield act
                    (self._folder(action, number) / str(application) / "end").touch()
        finally:
            for process in processes:
                process.stop()

    def close(self) -> None:
        """Close the consumer."""
        self._facts.close()

    def _folder(self, action: str, number: int) -> Path:
        return self._layout.home / "jobs" / f"{action}-{number}"

    def _start(self, action: str, number: int, applications: int) -> Process:
        folder = self._folder(action, number)
        folder.mkdir(parents=True)
        given = {
            **job_properties(self._layout), **spark_job.ON_ONE_MACHINE,
            "spark.sparkfuse.job": f"bench_{action}", "spark.sparkfuse.fuse": "act",
            "spark.sparkfuse.fuse.policies": str(self._policies),
            "spark.bench.folder": str(folder), "spark.bench.applications": str(applications),
        }  # fmt: skip
        properties = folder / "spark.properties"
        properties.write_text("".join(f"{key} {value}\n" for key, value in given.items()))
        return spark_job.start(f"{action}-{number}", JOB, (), properties, {}, {}, self._layout.logs)

    def _act(self, action: str, number: int, application: int) -> Act:
        what, folder = f"{action} {number} {application}", self._folder(action, number) / str(application)
        wait_for(lambda: len(list(folder.glob("began-*"))) == TASKS, SECONDS, f"the tasks of {what}")
        true_ms = min(int(path.read_text()) for path in folder.glob("began-*")) + STALLED_MS
        log = (self._layout.logs / f"{action}-{number}.log").read_text()
        app_id = next(line.split()[2] for line in log.splitlines() if line.startswith(f"APPLICATION {application} "))
        freed = 1 if action == "kill_task" else TASKS
        ended = wait_for(lambda: self._facts.stopped(app_id, freed), SECONDS, f"the end of {what}")
        return Act(true_ms, self._facts.sampled_ms(app_id), self._sent_ms(app_id), ended[freed - 1])

    def _sent_ms(self, app_id: str) -> int:
        """Return the time at which the controller sent the signal, according to the audit log."""
        steps = state.read_audit(self._settings).of_application(app_id)
        return min(step.at_ms for step in steps if step.step == "sent")


@contextmanager
def pipeline(folder: Path) -> Iterator[Bench]:
    """Start broker, Alertmanager, both Flink jobs and the fuse controller with the rules of this bench."""
    layout = Layout.from_environment(folder / "stack", Ports.free(), {})
    layout.home.mkdir()
    rules, file = folder / "rules", folder / "sparkfuse.yaml"
    write_rules(rules)
    file.write_text(configuration())
    more = {
        **outputs.signing_keys(layout), "SPARKFUSE_CONFIG": str(file),
        "SPARKFUSE_FLINK_LIBS": str(ROOT / "build" / "flink-libs"),
    }  # fmt: skip
    settings = Settings.from_environment({**os.environ, **layout.environment(), **more})
    wanted = {each.name: each for each in services.components(layout, more)}
    for name in ("detect", "fuse-controller"):
        wanted[name] = dataclasses.replace(wanted[name], command=[*wanted[name].command, "--catalog", str(rules)])
    supervisor = Supervisor(layout.logs, lambda name, event: print(f"  {name}: {event}", flush=True))
    try:
        supervisor.start(
            Broker(layout, ROOT / "build" / "kafka-libs").service(),
            outputs.alertmanager(layout, "http://127.0.0.1:9/nobody"),
        )
        ensure_topics(settings)
        supervisor.start(*(wanted[name] for name in ("windows", "detect", "fuse-controller")))
        bench = Bench(layout, rules, settings)
        try:
            yield bench
        finally:
            bench.close()
    finally:
        supervisor.stop()


def measure(folder: Path, count: int, at_once: int, actions: Sequence[str]) -> Mapping[str, list[Act]]:
    """Measure acts of each action, and return them by action."""
    found: dict[str, list[Act]] = {}
    with pipeline(folder) as bench:
        for action in actions:
            for act in bench.acts(action, count, at_once):
                found.setdefault(action, []).append(act)
                print(action, [moment - act.true_ms for moment in dataclasses.astuple(act)], flush=True)
    return found


def rows(acts: Mapping[str, Sequence[Act]], wanted: int) -> Iterator[str]:
    """Yield a row of the table for each action, with the number of acts that ended their target."""
    for action, found in acts.items():
        freed = [act.freed_ms - act.sampled_ms for act in found]
        slowest = _p95([act.freed_ms - act.true_ms for act in found])
        figures = (
            f"p50 {_s(statistics.median(freed))}, p95 {_s(_p95(freed))};"
            f" from the moment the tasks meet the condition p95 {_s(slowest)}"
        )
        yield f"| `{action}`, {len(found)} of {wanted} acts | {figures} |"


def _s(milliseconds: float) -> str:
    return f"{milliseconds / 1000:.1f} s"


def _p95(values: Sequence[int]) -> float:
    return statistics.quantiles(values, n=20, method="inclusive")[-1] if len(values) > 1 else values[0]
