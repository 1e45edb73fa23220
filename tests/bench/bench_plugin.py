"""Measures the cost of the Spark plugin: callback times, wall time of jobs with and without it, and time to stop.

``python -m tests.bench.bench_plugin --part wall --kind tiny --state refused --pairs 8`` measures one combination (a
cell of the table), adds it to ``build/bench-plugin.json`` and prints all cells. ``--write`` writes all cells to the
section "Spark plugin" of docs/benchmarks.md. A cell takes a few minutes and needs an idle host.

Two processes that run the same job differ by a few percent, which hides a cost of one percent. So ``--part switched``
switches the collector off and on within one process. This part does not measure the cost of a listener that returns
immediately; ``--part wall`` measures it. Two runs in one process still differ by ten percent, mostly in task threads
and in the JIT compiler. So CPU time is measured by kind of thread: for the threads of the collector, of garbage
collection, and all others of Spark and the job, the difference between on and off is precise to a few thousandths.
These kinds leave out the collector's work in task threads at the start and end of a task; callback times measure it.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime as dt
import itertools
import json
import math
import os
import re
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.bench.bench_windows import broker
from tests.integration.collectors.broker_states import STATES, broker_in_state
from tests.integration.collectors.spark_runs import ENVIRONMENTS, SETTINGS, create_topics

ROOT = Path(__file__).parents[2]
JOB = Path(__file__).parent / "jobs" / "plugin_job.py"
KEPT = ROOT / "build" / "bench-plugin.json"
DOCUMENT = ROOT / "docs" / "benchmarks.md"
HEADING = "## Spark plugin"
TASKS = {"ordinary": 40, "tiny": 100_000}
TASKS_OF_SWITCHED = {"ordinary": 160, "tiny": 10_000}
# Student's t for a two-sided interval of 95 %, by degrees of freedom; with more, the normal distribution is used.
T95 = {1: 12.71, 2: 4.30, 3: 3.18, 4: 2.78, 5: 2.57, 6: 2.45, 7: 2.36, 8: 2.31, 9: 2.26, 11: 2.20, 14: 2.14, 19: 2.09}
SHOWS_FIGURES = """\
rootLogger.level = warn
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %m%n
logger.sparkfuse.name = io.sparkfuse
logger.sparkfuse.level = info
"""
ALL_THREADS_STAY = "-XX:-UseDynamicNumberOfCompilerThreads -XX:-UseDynamicNumberOfGCThreads"
"""The CPU time of a thread is not available after its end, so threads must not end."""
KINDS = ("collector", "garbage", "others", "compiler", "tasks")
COUNTED = ("collector", "garbage", "others")
"""Kinds of threads whose CPU time with the collector on minus off is the collector's cost outside task threads."""
LEAST_DIFFERENCE = -0.9
"""Lower limit of a difference: a difference can be negative if a thread of its kind ended during a run."""
_FIGURES = re.compile(
    r"Sparkfuse: (\d+) callbacks, p99 (\d+) ns, p99.9 (\d+) ns, longest (\d+) ns; stopped in (\d+) ms"
)


def main() -> None:
    """Measure one part and print all stored results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--part", choices=["wall", "switched", "callbacks", "none"], default="none", help="what to measure"
    )
    parser.add_argument("--state", choices=STATES, default="up", help="state of the broker")
    parser.add_argument("--kind", choices=sorted(TASKS), default="ordinary", help="kind of job")
    parser.add_argument(
        "--pairs", type=int, default=8, help="alternating pairs of processes, or of runs in one process"
    )
    parser.add_argument("--runs", type=int, default=3, help="timed runs in each process")
    parser.add_argument("--tasks", type=int, help="tasks of a run; default 40 ordinary or 100,000 tiny ones")
    parser.add_argument("--version", choices=sorted(ENVIRONMENTS), default="spark35")
    parser.add_argument("--write", action="store_true", help="write docs/benchmarks.md")
    options = parser.parse_args()
    if options.part != "none":
        measure(options)
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    text = tables(kept)
    print(text)
    if options.write:
        write(text)


def measure(options: argparse.Namespace) -> None:
    """Measure one cell and store it under its name."""
    tasks = options.tasks or (TASKS_OF_SWITCHED if options.part == "switched" else TASKS)[options.kind]
    load = os.getloadavg()[0]
    with (
        tempfile.TemporaryDirectory() as folder,
        real_broker(Path(folder), options.state) as bootstrap,
        broker_in_state(options.state, bootstrap, Path(folder)) as addresses,
    ):
        plugin = {**addresses, "spark.sparkfuse.topic.prefix": "bench"}
        runs = options.pairs if options.part == "switched" else options.runs
        runner = Runner(options.version, options.kind, tasks, runs, Path(folder))
        if options.part == "wall":
            cell = wall(runner, plugin, options.pairs)
        elif options.part == "switched":
            cell = switched(runner, {**plugin, "spark.sparkfuse.switchFile": str(Path(folder, "off"))})
        else:
            cell = callbacks(runner, plugin)
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    name = f"{options.part} {options.kind} {options.state}"
    kept[name] = {**cell, "load": round(load, 1), "tasks": tasks, "day": dt.datetime.now(dt.UTC).date().isoformat()}
    KEPT.parent.mkdir(exist_ok=True)
    KEPT.write_text(json.dumps(kept, indent=2) + "\n")


@contextlib.contextmanager
def real_broker(folder: Path, state: str) -> Iterator[str]:
    """Yield the address of a broker for states that need one; for other states no broker runs, so it uses no CPU."""
    if state in ("up", "slow", "auth-fail"):
        with broker(folder) as bootstrap:
            create_topics(bootstrap, "bench")
            yield bootstrap
    else:
        yield ""


class Runner:
    """Runs the job in a new process, with or without the plugin."""

    def __init__(self, version: str, kind: str, tasks: int, runs: int, folder: Path) -> None:
        self._python = str(ENVIRONMENTS[version])
        self._log = folder / "log4j2.properties"
        self._log.write_text(SHOWS_FIGURES)
        self._bench = {"spark.bench.kind": kind, "spark.bench.tasks": str(tasks), "spark.bench.runs": str(runs)}

    def run(self, plugin: Mapping[str, str] | None) -> dict[str, Any]:
        """Run the job; return the mean seconds of a run, the seconds to stop, and the values that the plugin logs."""
        settings = {
            **SETTINGS, "spark.driver.memory": "1g", "spark.sparkfuse.sample.interval": "5s", **self._bench,
            "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile=file:{self._log} {ALL_THREADS_STAY}",
            **(plugin or {}),
        }  # fmt: skip
        del settings["spark.log.level"]
        if plugin is None:
            for key in ("spark.plugins", "spark.jars"):
                del settings[key]
        options = " ".join(f"--conf '{key}={value}'" for key, value in settings.items())
        environment = {**os.environ, "PYSPARK_SUBMIT_ARGS": f"{options} pyspark-shell", "PYSPARK_PYTHON": self._python}
        done = subprocess.run(
            [self._python, str(JOB)], env=environment, capture_output=True, text=True, check=True, timeout=1_800
        )
        lines = [line.split() for line in done.stdout.splitlines()]
        timed = {
            word: [json.loads(" ".join(words[1:])) for words in lines if words[:1] == [word]]
            for word in ("RUN", "ON", "OFF")
        }
        with_it = timed["RUN"] or timed["ON"]
        found = {
            "run": statistics.mean(run["clock"] for run in with_it),
            "cpu": statistics.mean(run["cpu"] for run in with_it),
            "own_cpu": sum(run["collector"] for run in with_it) / sum(run["cpu"] for run in with_it),
            "stop": next(float(words[1]) for words in lines if words[:1] == ["STOPPED"]),
        }
        if timed["ON"]:
            both = list(zip(timed["ON"], timed["OFF"], strict=True))
            logs = {
                "": [math.log(on["clock"] / off["clock"]) for on, off in both],
                "cpu_": [math.log(on["cpu"] / off["cpu"]) for on, off in both],
            }
            for kind in (*KINDS, "counted"):
                more = [(of_kind(on, kind) - of_kind(off, kind)) / off["cpu"] for on, off in both]
                logs[f"{kind}_"] = [math.log1p(max(each, LEAST_DIFFERENCE)) for each in more]
            found |= of_pairs(logs)
        figures = _FIGURES.search(done.stderr)
        if figures:
            names = ("callbacks", "p99_ns", "p999_ns", "longest_ns", "plugin_stop_ms")
            found |= dict(zip(names, map(float, figures.groups()), strict=True))
        elif plugin is not None:
            raise SystemExit(f"the plugin logged no times:\n{done.stderr[-2000:]}")
        return found


def wall(runner: Runner, plugin: Mapping[str, str], pairs: int) -> dict[str, float]:
    """Return the ratio of wall times with and without the plugin, its interval, and the additional time to stop."""
    ratios, cpu, stops, own = [], [], [], []
    for number in range(pairs):
        order = (plugin, None) if number % 2 else (None, plugin)
        both = {each is not None: runner.run(each) for each in order}
        ratios.append(math.log(both[True]["run"] / both[False]["run"]))
        cpu.append(math.log(both[True]["cpu"] / both[False]["cpu"]))
        stops.append(both[True]["stop"] - both[False]["stop"])
        own.append(both[True])
        print(f"pair {number + 1}: {both[False]['run']:.2f} s without, {both[True]['run']:.2f} s with", flush=True)
    return {
        **interval(ratios),
        **named("cpu", interval(cpu)),
        "own_cpu": statistics.mean(each["own_cpu"] for each in own),
        "stop_more_s": statistics.median(stops),
        "stop_most_s": max(stops),
        "plugin_stop_most_ms": max(each["plugin_stop_ms"] for each in own),
        "p99_ns": statistics.median(each["p99_ns"] for each in own),
        "p999_ns": statistics.median(each["p999_ns"] for each in own),
    }


def switched(runner: Runner, plugin: Mapping[str, str]) -> dict[str, Any]:
    """Return the ratio of wall times with the collector on and off in one process, and its interval."""
    return runner.run(plugin)


def of_kind(run: Mapping[str, float], kind: str) -> float:
    """Return the CPU seconds of the threads of one kind; ``counted`` means all counted kinds."""
    return sum(run[each] for each in COUNTED) if kind == "counted" else run[kind]


def of_pairs(logs: Mapping[str, Sequence[float]]) -> dict[str, Any]:
    """Return mean and median of each ratio, and the logarithms of its pairs, so that cells can be combined."""
    found: dict[str, Any] = {"logs": logs}
    for prefix, ratios in logs.items():
        found |= {f"{prefix}{name}": value for name, value in (interval(ratios) | middle(ratios)).items()}
    return found


def named(prefix: str, figures: Mapping[str, float]) -> dict[str, float]:
    """Return the values with a prefix before each of their names."""
    return {f"{prefix}_{name}": value for name, value in figures.items()}


def interval(ratios: Sequence[float]) -> dict[str, float]:
    """Return the mean of ratios with its 95 % interval; ``ratios`` contains the logarithms of the ratios."""
    pairs, mean = len(ratios), statistics.mean(ratios)
    freedom = max((each for each in T95 if each <= pairs - 1), default=1)
    spread = T95[freedom] * statistics.stdev(ratios) / math.sqrt(pairs) if pairs > 1 else math.inf
    return {
        "pairs": pairs,
        "slowdown": math.expm1(mean),
        "low": math.expm1(mean - spread),
        "high": math.expm1(mean + spread),
    }


def middle(ratios: Sequence[float]) -> dict[str, float]:
    """Return the Hodges-Lehmann estimate of ratios with its 95 % interval; ``ratios`` contains their logarithms.

    The estimate is the median of the means of all pairs, with the interval of Wilcoxon's signed-rank test. A single
    very slow run has no more influence than any other slow run. Hollander and Wolfe, Nonparametric Statistical Methods,
    3.2 and 3.3, with the normal approximation.
    """
    number = len(ratios)
    means = sorted((ratios[i] + ratios[j]) / 2 for i in range(number) for j in range(i, number))
    spread = 1.96 * math.sqrt(number * (number + 1) * (2 * number + 1) / 24)
    first = max(0, math.floor(len(means) / 2 - spread))
    return {
        "middle": math.expm1(statistics.median(means)),
        "middle_low": math.expm1(means[first]),
        "middle_high": math.expm1(means[-1 - first]),
    }


def callbacks(runner: Runner, plugin: Mapping[str, str]) -> dict[str, float]:
    """Return the values that the plugin logged in one process."""
    return runner.run(plugin)


def tables(kept: Mapping[str, Mapping[str, Any]]) -> str:
    """Return a table of all cells measured so far."""
    lines = [
        (
            "| job | broker | wall time | CPU of the JVM | threads of collector, Spark and garbage collection "
            "| JIT compiler | all threads of the collector | pairs | time to stop | callbacks p99, p99.9 | load |"
        ),
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for part, kind in itertools.product(("wall", "switched", "callbacks"), TASKS):
        cells = [(state, kept[name]) for state in STATES if (name := f"{part} {kind} {state}") in kept]
        lines += [line_of(part, kind, state, cell) for state, cell in cells]
        lines += together(kept, part, kind)
    return "\n".join(lines)


def line_of(part: str, kind: str, state: str, cell: Mapping[str, Any]) -> str:
    """Return the table row of one cell."""
    figures: tuple[str, ...] = (f"{cell['callbacks']:.0f} callbacks", "", "", "", "", "")
    if part != "callbacks":
        figures = ratio_figures(cell)
    name = f"{cell['tasks']} {kind} tasks" + (", switched" if part == "switched" else "")
    quantiles = f"{cell['p99_ns'] / 1e3:.0f} us, {cell['p999_ns'] / 1e3:.0f} us"
    return f"| {' | '.join([name, state, *figures, stop_figure(cell), quantiles, str(cell['load'])])} |"


def together(kept: Mapping[str, Mapping[str, Any]], part: str, kind: str) -> list[str]:
    """Return a row for the pairs of all states, if several states were measured with the same number of tasks."""
    of_tasks: dict[int, list[Mapping[str, Any]]] = {}
    for state in STATES:
        cell = kept.get(f"{part} {kind} {state}", {})
        if "logs" in cell:
            of_tasks.setdefault(cell["tasks"], []).append(cell)
    lines = []
    for tasks, cells in of_tasks.items():
        if len(cells) > 1:
            logs = {name: [each for cell in cells for each in cell["logs"][name]] for name in cells[0]["logs"]}
            own = statistics.mean(cell["own_cpu"] for cell in cells)
            figures = ratio_figures({**of_pairs(logs), "own_cpu": own})
            lines.append(f"| {tasks} {kind} tasks, {part} | {len(cells)} states | {' | '.join(figures)} |  |  |  |")
    return lines


def ratio_figures(cell: Mapping[str, float]) -> tuple[str, ...]:
    """Return wall time, CPU time and CPU time by kind of thread, each with its 95 % interval, and the pairs."""

    def one(prefix: str) -> str:
        robust = f"{prefix}middle" in cell
        names = ("middle_low", "middle", "middle_high") if robust else ("low", "slowdown", "high")
        if prefix + names[1] not in cell:
            return "not measured"
        low, mean, high = (cell[prefix + name] for name in names)
        digits = 1 if prefix in ("", "cpu_", "compiler_") else 2
        return f"{mean:+.{digits}%} ({low:+.{digits}%} to {high:+.{digits}%})"

    own = f"{cell['own_cpu']:.2%}" if "own_cpu" in cell else "not measured"
    return one(""), one("cpu_"), one("counted_"), one("compiler_"), own, f"{cell['pairs']:.0f}"


def stop_figure(cell: Mapping[str, float]) -> str:
    """Return the additional time to stop, or the total time to stop if there is no run without the plugin."""
    if "stop_more_s" in cell:
        return f"{cell['stop_more_s']:+.2f} s, at most {cell['stop_most_s']:+.2f} s"
    return f"total {cell['plugin_stop_ms']:.0f} ms"


def write(text: str) -> None:
    """Write the section to docs/benchmarks.md and replace the previous one."""
    day = time.strftime("%Y-%m-%d")
    section = "\n".join((
        HEADING, "",
        f"`make bench-plugin ARGS=...` (`tests/bench/bench_plugin.py`), {day}, 2 cores, local[2], Spark 3.5.",
        "With and without the plugin in alternating processes; a pair gives the ratio of the means of its runs.",
        "Rows with `switched`: the collector is on and off in alternating runs of one process.",
        "For alternating runs in one process: the Hodges-Lehmann estimate and Wilcoxon's 95 % interval.",
        "For the others: the mean and Student's interval over the logarithms of the ratios.",
        "One JVM is driver and executor; its CPU does not include the broker.",
        "Callback times are wall times, measured by the plugin.",
        "The load is that of the host before the measurement: above 2, callbacks wait for a core.", "",
        text,
    ))  # fmt: skip
    kept = DOCUMENT.read_text()
    pattern = re.compile(rf"^{HEADING}\n.*?(?=^## |\Z)", re.MULTILINE | re.DOTALL)
    if pattern.search(kept):
        kept = pattern.sub(lambda _: section + "\n\n", kept)
    else:
        kept = kept.rstrip("\n") + "\n\n" + section + "\n"
    DOCUMENT.write_text(kept.rstrip("\n") + "\n")


if __name__ == "__main__":
    main()
