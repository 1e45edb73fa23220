"""Measures recall and false alarms of the rules on labelled real runs, offline and live.

``python -m tests.bench.bench_detection --offline`` evaluates the logs of tests/logs/detection with
``sparkfuse analyze``; ``--live`` repeats some of the runs with the plugin against a whole stack.
``--write`` writes the results to the sections "Detection offline" and "Detection live" of docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.bench.bench_kernel import machine
from tests.logs.detection_labels import Expected, Label, Verdict, history, labels, of_analysis, stage_texts, verdict

ROOT = Path(__file__).parents[2]
DOCUMENT = ROOT / "docs" / "benchmarks.md"
OFFLINE, LIVE = "## Detection offline", "## Detection live"


def judge_offline(wanted: Sequence[Label]) -> list[Verdict]:
    """Return the verdict on each labelled log; one command evaluates all logs that share a history."""
    found: dict[str, Verdict] = {}
    for pattern in dict.fromkeys(label.history for label in wanted):
        group = [label for label in wanted if label.history == pattern]
        for label, analysis in zip(group, analyzed([label.log for label in group], history(group[0])), strict=True):
            found[label.run] = verdict(label, of_analysis(analysis), stage_texts(label.log))
    return [found[label.run] for label in wanted]


def analyzed(logs: Sequence[Path], earlier: Sequence[Path]) -> list[dict[str, Any]]:
    """Return the analyses that ``sparkfuse analyze --json`` prints for the logs, in their order."""
    if not logs:
        return []
    command = [sys.executable, "-m", "sparkfuse.main", "analyze", "--json", "--fail-on", "never"]
    past = ["--history", *map(str, earlier)] if earlier else []
    done = subprocess.run([*command, *map(str, logs), *past], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"analyze exited with code {done.returncode}: {done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines()]


@dataclass(frozen=True)
class Score:
    """The verdicts on some runs, and the figures computed from them."""

    verdicts: Sequence[Verdict]

    @property
    def expected(self) -> list[Expected]:
        """Return the expected findings."""
        return [each for one in self.verdicts for each in one.label.expect]

    @property
    def found(self) -> list[Expected]:
        """Return the expected findings that were found."""
        return [each for one in self.verdicts for each in one.found]

    @property
    def false_alarms_per_100(self) -> float:
        """Return the number of warnings and critical findings that no label allows, per hundred runs."""
        return 100 * sum(len(one.false_alarms) for one in self.verdicts) / len(self.verdicts)

    @property
    def healthy_with_alarm(self) -> list[str]:
        """Return the names of the healthy runs with a false alarm."""
        return [one.label.run for one in self.verdicts if one.label.healthy and one.false_alarms]

    @property
    def healthy(self) -> int:
        """Return the number of healthy runs."""
        return sum(one.label.healthy for one in self.verdicts)


def recall_table(score: Score) -> str:
    """Return a table with the numbers of expected and of found findings for each rule."""
    names = sorted({str(" or ".join(each.rules)) for each in score.expected})
    lines = ["| rule | expected | found |", "| --- | --- | --- |"]
    for name in names:
        expected = sum(" or ".join(each.rules) == name for each in score.expected)
        lines.append(f"| `{name}` | {expected} | {sum(' or '.join(each.rules) == name for each in score.found)} |")
    return "\n".join(lines)


def summary_table(score: Score) -> str:
    """Return a table of the results over all runs."""
    expected, found = len(score.expected), len(score.found)
    recall = f"{found} of {expected}, {100 * found / max(1, expected):.0f} %"
    return "\n".join((
        "| measure | value |",
        "| --- | --- |",
        f"| labelled runs, of these healthy | {len(score.verdicts)}, {score.healthy} |",
        f"| recall: the right rule at the right stage | {recall} |",
        f"| false alarms per 100 runs | {score.false_alarms_per_100:.1f} |",
        f"| healthy runs with a warning or a page | {len(score.healthy_with_alarm)} of {score.healthy} |",
    ))  # fmt: skip


def failures(score: Score) -> list[str]:
    """Return a line for each missed finding and each false alarm."""
    found = []
    for one in score.verdicts:
        found += [f"- `{one.label.run}` ({one.label.about}): missed {each}." for each in one.missed]
        for alarm in one.false_alarms:
            place = "" if alarm.stage_id is None else f" at stage {alarm.stage_id}"
            found.append(f"- `{one.label.run}` ({one.label.about}): false {alarm.severity} of {alarm.rule}{place}.")
    return found


def text_of(score: Score) -> str:
    """Return the tables, and the missed findings and false alarms."""
    wrong = failures(score) or ["No finding was missed, and there was no false alarm."]
    return "\n".join((summary_table(score), "", recall_table(score), "", *wrong))


def offline(wanted: Sequence[Label]) -> str:
    """Evaluate the logs, and return the text of the section "Detection offline"."""
    return text_of(Score(judge_offline(wanted)))


def write(heading: str, lines: Sequence[str], text: str, document: Path = DOCUMENT) -> None:
    """Replace the section with this heading in the document, or append the section."""
    section = "\n".join((heading, "", *lines, "", text))
    kept = document.read_text()
    pattern = re.compile(rf"^{heading}\n.*?(?=^## |\Z)", re.MULTILINE | re.DOTALL)
    if pattern.search(kept):
        kept = pattern.sub(lambda _: section + "\n\n", kept)
    else:
        kept = kept.rstrip("\n") + "\n\n" + section + "\n"
    document.write_text(kept.rstrip("\n") + "\n")


def main() -> None:
    """Print the results, and write them to the document with ``--write``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--offline", action="store_true", help="evaluate the committed logs")
    parser.add_argument("--live", action="store_true", help="repeat twelve of them against a whole stack (20 minutes)")
    parser.add_argument("--runs", nargs="*", default=[], help="only these runs")
    parser.add_argument("--write", action="store_true", help="write docs/benchmarks.md")
    options = parser.parse_args()
    today, where = dt.datetime.now(dt.UTC).date().isoformat(), machine()
    if options.offline or not options.live:
        recorded = [label for label in labels() if label.log.exists()]
        text = offline([label for label in recorded if not options.runs or label.run in options.runs])
        print(text)
        if options.write:
            write(OFFLINE, [*OFFLINE_LINES, f"`make bench-detection`, {today}."], text)
    if options.live:
        from tests.bench.detection_live import live

        lines, text = live(options.runs)
        print(text)
        if options.write:
            write(LIVE, [f"`make bench-detection ARGS=--live`, {today}, {where}.", *lines], text)


OFFLINE_LINES = [
    "Real runs of PySpark jobs whose problems, and the stages that have them, are known: `tests/logs/detection`.",
    "All were recorded on two cores without other work, except where a label says so (load 1 to 4).",
    "Rules were tuned on them: two runs that lost 13 and 14 s lowered `stage_slow` from 15 s to 10 s.",
]


if __name__ == "__main__":
    main()
