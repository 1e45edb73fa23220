"""What the labelled runs must raise and must not, and the verdict on what was found in one of them."""

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
TOLD_FROM = "warning"
"""What is less severe wakes nobody, so it is no false alarm."""
SQL = "org.apache.spark.sql.execution.ui.SparkListenerSQL"


@dataclass(frozen=True)
class Finding:
    """One finding as it was told: by which rule, how bad, and at which stage, if it speaks of one."""

    rule: str
    severity: str
    stage_id: int | None = None


@dataclass(frozen=True)
class Expected:
    """A finding of a label: one of the rules, at the stage whose texts hold all words (any, without words)."""

    rules: tuple[str, ...]
    stage: tuple[str, ...] = ()
    at_least: str = TOLD_FROM
    because: str = ""

    def __str__(self) -> str:
        place = f" at {' + '.join(self.stage)}" if self.stage else ""
        return f"{' or '.join(self.rules)}{place}"

    def fits(self, found: Finding, stages: Mapping[int, str]) -> bool:
        """Whether the finding is this one; ``stages`` are the texts of the run's stages by id."""
        if found.rule not in self.rules or _rank(found.severity) < _rank(self.at_least):
            return False
        text = "" if found.stage_id is None else stages.get(found.stage_id, "")
        return all(word in text for word in self.stage)


@dataclass(frozen=True)
class Label:
    """What is known of one run."""

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
    """What was found of what had to be, what was missed, and what nobody should have been told."""

    label: Label
    found: tuple[Expected, ...]
    missed: tuple[Expected, ...]
    false_alarms: tuple[Finding, ...]

    @property
    def right(self) -> bool:
        """Whether everything was found and nothing else was said."""
        return not self.missed and not self.false_alarms


@functools.cache
def labels() -> tuple[Label, ...]:
    """All labels, in the order of the file.

    Raises:
        ValueError: a healthy run expects something, or a sick one nothing; or an entry has an unknown key.
    """
    content = yaml.safe_load(LABELS.read_text())
    histories = content["histories"]
    return tuple(_label(run, told, histories) for run, told in content["runs"].items())


def history(label: Label) -> list[Path]:
    """The logs of the earlier runs that the label's run is judged against."""
    if label.history is None:
        return []
    pattern = CORPUS / f"{label.history}{SUFFIX}"
    return sorted(pattern.parent.glob(pattern.name))


def verdict(label: Label, found: Iterable[Finding], stages: Mapping[int, str]) -> Verdict:
    """Hold what was found against the label."""
    told = list(found)
    there = tuple(each for each in label.expect if any(each.fits(one, stages) for one in told))
    missed = tuple(each for each in label.expect if each not in there)
    may = (*label.expect, *label.allow)
    false = [
        one
        for one in dict.fromkeys(told)
        if _rank(one.severity) >= _rank(TOLD_FROM) and not any(each.fits(one, stages) for each in may)
    ]
    return Verdict(label, there, missed, tuple(false))


def of_analysis(analysis: Mapping[str, Any]) -> list[Finding]:
    """The findings of what ``sparkfuse analyze --json`` prints."""
    return [Finding(each["rule"], each["severity"], each.get("stage_id")) for each in analysis["findings"]]


def stage_texts(log: Path) -> dict[int, str]:
    """For each stage its name and its operators, read from the raw log by a way that the product does not go.

    An operator is of a stage when the stage's end reports a metric of it; a scan has the last folder that it reads.
    Of a stage that never ended well only those are known whose tasks did.
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
    """The events of one log file, whatever it is packed with."""
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


def _label(run: str, told: Mapping[str, Any], histories: Mapping[str, str]) -> Label:
    if unknown := set(told) - {"about", "history", "healthy", "expect", "allow", "falls_short", "log"}:
        raise ValueError(f"{LABELS.name}: {run} has unknown keys: {', '.join(sorted(unknown))}")
    of = told.get("history")
    expect = tuple(_expected(each) for each in told.get("expect", ()))
    allow = tuple(_expected(each) for each in told.get("allow", ()))
    healthy = bool(told.get("healthy", False))
    if healthy == bool(expect):
        raise ValueError(f"{LABELS.name}: {run} must either be healthy or expect something")
    earlier = None if of is None else histories[of]
    log = CORPUS / told.get("log", f"{run}{SUFFIX}")
    if log.is_dir():  # one log of tests/logs/real
        (log,) = (path for path in log.iterdir() if not path.name.startswith("."))
    return Label(run, told["about"], earlier, healthy, expect, allow, log, told.get("falls_short", ""))


def _expected(told: Mapping[str, Any]) -> Expected:
    rules = told["rule"] if isinstance(told["rule"], list) else [told["rule"]]
    return Expected(
        tuple(rules), tuple(told.get("stage", ())), told.get("at_least", TOLD_FROM), told.get("because", "")
    )


def _rank(severity: str) -> int:
    return SEVERITIES.index(severity)
