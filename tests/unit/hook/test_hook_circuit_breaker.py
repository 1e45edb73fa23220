from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from sparkfuse import CircuitBreaker, FuseBlown
from sparkfuse.hook import UNREACHABLE

ROOT = Path(__file__).parents[3]
REASON = (
    "[SPARKFUSE_FUSE_BLOWN] Sparkfuse stopped stage 3. Rule: stage_runaway_spill. "
    "Evidence: 3.1 GB spilled while no task ended for 40 s. Look at: http://grafana/d/run?x=1.5. "
    "To override: set spark.sparkfuse.fuse.hold=true, or spark.sparkfuse.fuse=off, and run again. (signal s-1)"
)
EVENT = {
    "generation": 4,
    "rule": "stage_runaway_spill",
    "action": "cancel_stage",
    "outcome": "acted",
    "evidence": "3.1 GB spilled",
    "override": "set spark.sparkfuse.fuse.hold=true",
    "finding_id": "f00d",
}


class StandInJvm:
    """What py4j shows of the plugin's class Fuse."""

    def __init__(self) -> None:
        self.told: list[tuple] = []
        self.now = {"mode": "act", "hold": False, "watching": True, "state": "closed", "events": []}

    def state(self) -> str:
        return json.dumps(self.now)

    def reset(self) -> None:
        self.told.append(("reset",))

    def hold(self, holds: bool) -> None:
        self.told.append(("hold", holds))

    def blow(self, **changes: object) -> None:
        self.now = self.now | {"state": "open", "events": [EVENT | changes]}


class ConnectSession:
    @property
    def sparkContext(self):  # noqa: N802  # pyspark's name
        raise NotImplementedError("[JVM_ATTRIBUTE_NOT_SUPPORTED]")


@pytest.fixture
def jvm() -> StandInJvm:
    return StandInJvm()


@pytest.fixture
def breaker(jvm: StandInJvm) -> CircuitBreaker:
    package = SimpleNamespace(sparkfuse=SimpleNamespace(spark=SimpleNamespace(Fuse=jvm)))
    return CircuitBreaker(SimpleNamespace(sparkContext=SimpleNamespace(_jvm=SimpleNamespace(io=package))))


def test_a_closed_fuse_lets_everything_pass(breaker):
    """Nothing is raised, and other exceptions pass the guard unchanged."""
    breaker.check()
    with breaker.guard("write orders"):
        pass
    with pytest.raises(KeyError), breaker.guard("write orders"):
        raise KeyError("x")

    assert breaker.should_continue()


def test_an_open_fuse_says_rule_evidence_and_override(breaker, jvm):
    """`check` and the beginning of `guard` raise what the plugin was told."""
    jvm.blow()
    with pytest.raises(FuseBlown) as raised:
        breaker.check()
    with pytest.raises(FuseBlown), breaker.guard("write orders"):
        pytest.fail("the block must not begin")

    assert not breaker.should_continue()
    assert str(raised.value) == (
        "the fuse has blown. Rule: stage_runaway_spill. Evidence: 3.1 GB spilled. Look at: f00d. "
        "To override: set spark.sparkfuse.fuse.hold=true."
    )


def test_a_cancelled_action_becomes_fuse_blown(breaker):
    """Spark's exception is translated by the reason in its text, and kept as the cause."""
    with pytest.raises(FuseBlown) as raised, breaker.guard("write orders"):
        raise RuntimeError(f"SparkException: Job 1 cancelled because {REASON}\n\tat org.apache.spark...")

    assert raised.value.rule == "stage_runaway_spill"
    assert raised.value.evidence == "3.1 GB spilled while no task ended for 40 s"
    assert raised.value.look_at == "http://grafana/d/run?x=1.5"
    assert raised.value.override == "set spark.sparkfuse.fuse.hold=true, or spark.sparkfuse.fuse=off, and run again"
    assert isinstance(raised.value.__cause__, RuntimeError)


def test_a_stopped_application_gives_its_reason_by_the_plugins_state(breaker, jvm):
    """`sc.stop()` carries no reason: what was obeyed since the block began explains its failure."""

    def write() -> None:
        jvm.blow(action="stop_application")
        raise RuntimeError("Job 1 cancelled because SparkContext was shut down")

    with pytest.raises(FuseBlown, match="write orders"), breaker.guard("write orders"):
        write()


def test_a_warning_does_not_explain_a_failure(breaker, jvm):
    """A block that failed of itself while a warning came fails of itself."""

    def write() -> None:
        jvm.blow(action="warn")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), breaker.guard("write orders"):
        write()


@pytest.mark.parametrize(
    "spark", [None, SimpleNamespace(), ConnectSession(), SimpleNamespace(sparkContext=SimpleNamespace(_jvm=None))]
)
def test_it_fails_open_without_a_jvm(spark):
    """Spark Connect, no plugin, no session: the job runs on, and the guard still reads the reason in an exception."""
    breaker = CircuitBreaker(spark)
    breaker.check()
    breaker.hold()
    breaker.release()
    breaker.reset()
    with pytest.raises(FuseBlown), breaker.guard("write orders"):
        raise RuntimeError(f"SparkConnectGrpcException: Job 1 cancelled because {REASON}")

    assert breaker.should_continue()
    assert breaker.state() == UNREACHABLE


def test_hold_and_reset_reach_the_plugin(breaker, jvm):
    """The owner's word goes to the driver's JVM."""
    breaker.hold()
    breaker.release()
    breaker.reset()

    assert jvm.told == [("hold", True), ("hold", False), ("reset",)]


def test_the_hook_needs_the_standard_library_only():
    """It loads in an interpreter without site-packages, so that it stands beside any pyspark and pyarrow."""
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT / 'cli')!r}); before = set(sys.modules); import sparkfuse; "
        "assert 'sparkfuse.hook' not in sys.modules; sparkfuse.CircuitBreaker; "
        "print([m for m in sorted(set(sys.modules) - before) "
        "if m.split('.')[0] not in sys.stdlib_module_names | {'sparkfuse'}])"
    )
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"
