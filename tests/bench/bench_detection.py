"""How well the rules find what is wrong in labelled real runs, offline and live.

``python -m tests.bench.bench_detection --rest`` judges the logs of tests/logs/detection by ``sparkfuse analyze``.
``python -m tests.bench.bench_detection --live`` runs some of them again with the plugin against a whole stack.
With ``--write`` the figures go to the section "Detection" of docs/benchmarks.md.
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
REST, LIVE = "## Detection offline", "## Detection live"


def judge_offline(wanted: Sequence[Label]) -> list[Verdict]:
    """The verdicts on labelled logs; those that share a history are judged by one command."""
    found: dict[str, Verdict] = {}
    for pattern in dict.fromkeys(label.history for label in wanted):
        together = [label for label in wanted if label.history == pattern]
        for label, analysis in zip(
            together, analyzed([label.log for label in together], history(together[0])), strict=True
        ):
            found[label.run] = verdict(label, of_analysis(analysis), stage_texts(label.log))
    return [found[label.run] for label in wanted]


def analyzed(logs: Sequence[Path], earlier: Sequence[Path]) -> list[dict[str, Any]]:
    """What ``sparkfuse analyze --json`` prints of the logs, in their order."""
    if not logs:
        return []
    command = [sys.executable, "-m", "sparkfuse.main", "analyze", "--json", "--fail-on", "never"]
    past = ["--history", *map(str, earlier)] if earlier else []
    done = subprocess.run([*command, *map(str, logs), *past], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"analyze ended with {done.returncode}: {done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines()]


@dataclass(frozen=True)
class Score:
    """Figures over some verdicts."""

    verdicts: Sequence[Verdict]

    @property
    def expected(self) -> list[Expected]:
        """Everything that had to be found."""
        return [each for one in self.verdicts for each in one.label.expect]

    @property
    def found(self) -> list[Expected]:
        """What was."""
        return [each for one in self.verdicts for each in one.found]

    @property
    def false_alarms_per_100(self) -> float:
        """Warnings and pages that no label has, for a hundred runs."""
        return 100 * sum(len(one.false_alarms) for one in self.verdicts) / len(self.verdicts)

    @property
    def loud(self) -> list[str]:
        """Healthy runs about which something was said."""
        return [one.label.run for one in self.verdicts if one.label.healthy and one.false_alarms]

    @property
    def healthy(self) -> int:
        """How many runs are healthy."""
        return sum(one.label.healthy for one in self.verdicts)


def recall_table(score: Score) -> str:
    """A row a rule: how often it was to find something, and how often it did."""
    names = sorted({str(" or ".join(each.rules)) for each in score.expected})
    lines = ["| rule | to be found | found |", "| --- | --- | --- |"]
    for name in names:
        asked = sum(" or ".join(each.rules) == name for each in score.expected)
        lines.append(f"| `{name}` | {asked} | {sum(' or '.join(each.rules) == name for each in score.found)} |")
    return "\n".join(lines)


def summary_table(score: Score) -> str:
    """The figures over all runs."""
    asked, found = len(score.expected), len(score.found)
    return "\n".join((
        "| what | figure |",
        "| --- | --- |",
        f"| labelled runs, healthy ones of them | {len(score.verdicts)}, {score.healthy} |",
        f"| recall: the right rule at the right stage | {found} of {asked}, {100 * found / max(1, asked):.0f} % |",
        f"| false alarms per 100 runs | {score.false_alarms_per_100:.1f} |",
        f"| healthy runs with a warning or a page | {len(score.loud)} of {score.healthy} |",
    ))  # fmt: skip


def complaints(score: Score) -> list[str]:
    """A sentence for each finding that is missing and each that should not be there."""
    found = []
    for one in score.verdicts:
        found += [f"- `{one.label.run}` ({one.label.about}): missed {each}." for each in one.missed]
        for alarm in one.false_alarms:
            place = "" if alarm.stage_id is None else f" at stage {alarm.stage_id}"
            found.append(f"- `{one.label.run}` ({one.label.about}): false {alarm.severity} of {alarm.rule}{place}.")
    return found


def text_of(score: Score) -> str:
    """The tables, and what is not right."""
    wrong = complaints(score) or ["Nothing was missed, and nothing was said that no label has."]
    return "\n".join((summary_table(score), "", recall_table(score), "", *wrong))


def rest(wanted: Sequence[Label]) -> str:
    """Judge the logs and give the section's text."""
    return text_of(Score(judge_offline(wanted)))


def write(heading: str, lines: Sequence[str], text: str, document: Path = DOCUMENT) -> None:
    """Put a section into the document, in the place of the one before."""
    section = "\n".join((heading, "", *lines, "", text))
    kept = document.read_text()
    pattern = re.compile(rf"^{heading}\n.*?(?=^## |\Z)", re.MULTILINE | re.DOTALL)
    if pattern.search(kept):
        kept = pattern.sub(lambda _: section + "\n\n", kept)
    else:
        kept = kept.rstrip("\n") + "\n\n" + section + "\n"
    document.write_text(kept.rstrip("\n") + "\n")


def main() -> None:
    """Print the figures, and write them down when asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rest", action="store_true", help="judge the committed logs")
    parser.add_argument("--live", action="store_true", help="run a dozen of them against a whole stack (half an hour)")
    parser.add_argument("--runs", nargs="*", default=[], help="only these runs")
    parser.add_argument("--write", action="store_true", help="write docs/benchmarks.md")
    options = parser.parse_args()
    today, where = dt.datetime.now(dt.UTC).date().isoformat(), machine()
    if options.rest or not options.live:
        made = [label for label in labels() if label.log.exists()]
        text = rest([label for label in made if not options.runs or label.run in options.runs])
        print(text)
        if options.write:
            write(REST, [*REST_LINES, f"`make bench-detection`, {today}."], text)
    if options.live:
        from tests.bench.detection_live import live

        lines, text = live(options.runs)
        print(text)
        if options.write:
            write(LIVE, [f"`make bench-detection ARGS=--live`, {today}, {where}.", *lines], text)


REST_LINES = [
    "Real runs of PySpark jobs whose pathologies, and the stages that have them, are known: `tests/logs/detection`.",
    "All were made on two cores with nothing else to do but what a label says (load 1 to 4).",
    "They are not unseen: `stage_slow` told of 15 lost seconds before two of them, which lost 13 and 14 s, made it 10.",
]


if __name__ == "__main__":
    main()
