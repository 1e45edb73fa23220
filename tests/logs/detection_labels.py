"""Reads the labels of the detection corpus (findings that a run must or may have), and checks findings against them."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.oracle.containers import unpack

CORPUS = Path(__file__).parent / "detection"
LABELS = CORPUS / "labels.yaml"
SUFFIX = ".zstd"
SEVERITIES = ("info", "warning", "critical")
MIN_SEVERITY = "warning"
"""Findings of lower severity alert nobody, so they are not false alarms."""
SQL = "org.apache.spark.sql.execution.ui.SparkListenerSQL"


@dataclass(frozen=True)
class Finding:
    """One finding: its rule, its severity, and its stage if it has one."""

    rule: str
    severity: str
    stage_id: int | None = None


@dataclass(frozen=True)
class Expected:
    """A finding that a label expects or allows.

    The finding is of one of ``rules``, at a stage whose name and operators contain all words of ``stage``.
    """

    rules: tuple[str, ...]
    stage: tuple[str, ...] = ()
    at_least: str = MIN_SEVERITY
    because: str = ""

    def __str__(self) -> str:
        place = f" at {' + '.join(self.stage)}" if self.stage else ""
        return f"{' or '.join(self.rules)}{place}"

    def fits(self, found: Finding, stages: Mapping[int, str]) -> bool:
        """Return whether the finding is the expected one; ``stages`` maps stage ids to results of stage_texts."""
        if found.rule not in self.rules or _rank(found.severity) < _rank(self.at_least):
            return False
        text = "" if found.stage_id is None else stages.get(found.stage_id, "")
        return all(word in text for word in self.stage)


@dataclass(frozen=True)
class Label:
    """The label of one run: the findings that are expected and allowed, and the history to compare with."""

    run: str
    about: str
    history: str | None
    healthy: bool
    expect: tuple[Expected, ...]
    allow: tuple[Expected, ...]
    log: Path
    falls_short: str = ""


@dataclass(frozen=True)
class Verdict:
    """The expected findings that a run has, those that it lacks, and its unexpected findings."""

    label: Label
    found: tuple[Expected, ...]
    missed: tuple[Expected, ...]
    false_alarms: tuple[Finding, ...]

    @property
    def right(self) -> bool:
        """Return whether all expected findings exist, and no unexpected ones."""
        return not self.missed and not self.false_alarms


@functools.cache
def labels() -> tuple[Label, ...]:
    """Return all labels, in the order of the file.

    Raises:
        ValueError: a healthy run expects a finding, another run expects none, or an entry has an unknown key.
    """
    content = yaml.safe_load(LABELS.read_text())
    histories = content["histories"]
    return tuple(_label(run, entry, histories) for run, entry in content["runs"].items())


def history(label: Label) -> list[Path]:
    """Return the logs of earlier runs from which the baseline of the label's run is computed."""
    if label.history is None:
        return []
    pattern = CORPUS / f"{label.history}{SUFFIX}"
    return sorted(pattern.parent.glob(pattern.name))


def verdict(label: Label, found: Iterable[Finding], stages: Mapping[int, str]) -> Verdict:
    """Compare the findings of a run with its label."""
    findings = list(found)
    present = tuple(each for each in label.expect if any(each.fits(one, stages) for one in findings))
    missed = tuple(each for each in label.expect if each not in present)
    allowed = (*label.expect, *label.allow)
    false = [
        one
        for one in dict.fromkeys(findings)
        if _rank(one.severity) >= _rank(MIN_SEVERITY) and not any(each.fits(one, stages) for each in allowed)
    ]
    return Verdict(label, present, missed, tuple(false))


def of_analysis(analysis: Mapping[str, Any]) -> list[Finding]:
    """Return the findings in the output of ``sparkfuse analyze --json``."""
    return [Finding(each["rule"], each["severity"], each.get("stage_id")) for each in analysis["findings"]]


def stage_texts(log: Path) -> dict[int, str]:
    """Return name and operators of each stage, read from the raw log without code of the product.

    An operator belongs to a stage if the stage's end has a metric of the operator; a scan is shown with the last folder
    that it reads. If a stage did not succeed, its operators come from its tasks that succeeded.
    """
    operators: dict[int, str] = {}
    texts: dict[int, set[str]] = {}
    for event in events(log):
        kind = event["Event"]
        if kind.startswith(SQL) and "sparkPlanInfo" in event:
            operators |= dict(_metrics(event["sparkPlanInfo"]))
        elif kind in ("SparkListenerStageSubmitted", "SparkListenerStageCompleted"):
            stage = event["Stage Info"]
            known = texts.setdefault(stage["Stage ID"], {stage["Stage Name"]})
            known |= {operators[each["ID"]] for each in stage["Accumulables"] if each["ID"] in operators}
        elif kind == "SparkListenerTaskEnd":
            updates = event["Task Info"]["Accumulables"]
            known = texts.setdefault(event["Stage ID"], set())
            known |= {operators[each["ID"]] for each in updates if each["ID"] in operators}
    return {stage: "; ".join(sorted(known)) for stage, known in texts.items()}


def events(log: Path) -> Iterator[dict[str, Any]]:
    """Yield the events of one log file in any container."""
    for line in unpack(log.read_bytes()).data.splitlines():
        if line.strip():
            yield json.loads(line)


def _metrics(plan: Mapping[str, Any]) -> Iterator[tuple[int, str]]:
    location = plan.get("metadata", {}).get("Location", "")
    folder = location.rstrip("]").rpartition("/")[2]
    name = f"{plan['nodeName'].strip()} {folder}".strip()
    for metric in plan["metrics"]:
        yield metric["accumulatorId"], name
    for child in plan["children"]:
        yield from _metrics(child)


def _label(run: str, entry: Mapping[str, Any], histories: Mapping[str, str]) -> Label:
    if unknown := set(entry) - {"about", "history", "healthy", "expect", "allow", "falls_short", "log"}:
        raise ValueError(f"{LABELS.name}: {run} has unknown keys: {', '.join(sorted(unknown))}")
    of = entry.get("history")
    expect = tuple(_expected(each) for each in entry.get("expect", ()))
    allow = tuple(_expected(each) for each in entry.get("allow", ()))
    healthy = bool(entry.get("healthy", False))
    if healthy == bool(expect):
        raise ValueError(f"{LABELS.name}: {run} must either be healthy or expect something")
    earlier = None if of is None else histories[of]
    log = CORPUS / entry.get("log", f"{run}{SUFFIX}")
    if log.is_dir():  # one log of tests/logs/real
        (log,) = (path for path in log.iterdir() if not path.name.startswith("."))
    return Label(run, entry["about"], earlier, healthy, expect, allow, log, entry.get("falls_short", ""))


def _expected(entry: Mapping[str, Any]) -> Expected:
    rules = entry["rule"] if isinstance(entry["rule"], list) else [entry["rule"]]
    return Expected(
        tuple(rules), tuple(entry.get("stage", ())), entry.get("at_least", MIN_SEVERITY), entry.get("because", "")
    )


def _rank(severity: str) -> int:
    return SEVERITIES.index(severity)
