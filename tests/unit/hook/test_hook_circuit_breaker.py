from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from sparkfuse import CircuitBreaker, FuseBlownError, FuseWarnedError, LimitExceededError
from sparkfuse.hook import UNREACHABLE
from sparkfuse.hook_block import Limits
from sparkfuse.hook_driver import core_hour_price
from sparkfuse.hook_errors import from_text
from sparkfuse.stack.job_properties import core_hour_price as price_of_jobs
from sparkfuse_contracts.settings import Settings
from sparkfuse_rules.prices import read_prices

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
    "outcome": "ended",
    "evidence": "3.1 GB spilled",
    "override": "set spark.sparkfuse.fuse.hold=true",
    "finding_id": "f00d",
}


class FakeFuse:
    """A fake of the plugin's class Fuse, with the methods that Python code calls through py4j."""

    def __init__(self) -> None:
        self.calls: list[tuple] = []
        self.now = {"mode": "act", "hold": False, "watching": True, "state": "closed", "events": []}

    def state(self) -> str:
        return json.dumps(self.now)

    def reset(self) -> None:
        self.calls.append(("reset",))

    def hold(self, holds: bool) -> None:
        self.calls.append(("hold", holds))

    def blow(self, **changes: object) -> None:
        self.now = self.now | {"state": "open", "events": [EVENT | changes]}

    def show(self, outcome: str) -> None:
        self.now = self.now | {"events": [EVENT | {"outcome": outcome, "sequence": 1}]}


class ConnectSession:
    @property
    def sparkContext(self):  # noqa: N802  # pyspark's name
        raise NotImplementedError("[JVM_ATTRIBUTE_NOT_SUPPORTED]")


@pytest.fixture
def jvm() -> FakeFuse:
    return FakeFuse()


@pytest.fixture
def circuit_breaker(jvm: FakeFuse) -> CircuitBreaker:
    package = SimpleNamespace(sparkfuse=SimpleNamespace(spark=SimpleNamespace(Fuse=jvm)))
    return CircuitBreaker(SimpleNamespace(sparkContext=SimpleNamespace(_jvm=SimpleNamespace(io=package))))


LIMIT_TEXT = (
    "Job 3 cancelled [SPARKFUSE_BLOCK_STOPPED] Sparkfuse stopped block orders. Tag: {tag}. Limit: max_spill 1000. "
    "Evidence: 4000 bytes spilled to disk. To override: raise max_spill of the block, or set x=true. (end)"
)


@pytest.mark.parametrize("outcome", ["warned", "held"])
def test_warning_raises_only_if_code_asked(circuit_breaker, jvm, caplog, outcome):
    """A warning or a held signal is logged once; with `on_warn="raise"`, it is raised as an exception instead."""
    jvm.show(outcome)
    circuit_breaker.check()
    with circuit_breaker.guard("write orders"):
        pass
    asked = CircuitBreaker(circuit_breaker._spark, "orders", on_warn="raise")
    with pytest.raises(FuseWarnedError, match="orders"):
        asked.check()
    asked.check()
    received: list = []
    CircuitBreaker(circuit_breaker._spark, on_warn=received.append).check()

    [logged] = [record.message for record in caplog.records if "has warned" in record.message]
    assert logged == (
        "the fuse has warned. Rule: stage_runaway_spill. Evidence: 3.1 GB spilled. Look at: f00d. "
        "To override: set spark.sparkfuse.fuse.hold=true."
    )
    assert [type(error) for error in received] == [FuseWarnedError]


def test_stop_of_another_block_is_not_claimed(circuit_breaker, jvm):
    """An act on jobs with other tags does not explain the failure of a block that runs at the same time."""

    def write() -> None:
        jvm.blow(blocks=["sparkfuse-block.0123456789abcdef.other"])
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), circuit_breaker.guard("write orders"):
        write()


def test_limit_of_own_block_only_is_read():
    """The text of Spark's exception names the block by its tag; under Connect, the tag has a prefix."""
    own = "sparkfuse-block.0123456789abcdef.orders.s1000"
    found = from_text(LIMIT_TEXT.format(tag=f"spark-session-x-{own}"), "orders", own)

    assert isinstance(found, LimitExceededError)
    assert (found.rule, found.stopped_by) == ("max_spill", "limit")
    assert found.evidence == "4000 bytes spilled to disk, limit 1000"
    assert from_text(LIMIT_TEXT.format(tag="sparkfuse-block.fedcba9876543210.other.s1000"), "orders", own) is None


@pytest.mark.parametrize(
    ("limits", "price", "suffix"),
    [
        pytest.param(Limits(), None, "", id="none"),
        pytest.param(Limits(1.5, "2g", 10, 2.0), 4.0, ".t1500.s2147483648.r10.c1800000", id="all"),
        pytest.param(Limits(max_cost=2.0), None, "", id="cost-without-price"),
    ],
)
def test_tag_contains_the_limits(limits, price, suffix):
    """In the tag of a block, the limit of time is in ms, of spill in bytes and of cost in core-ms."""
    assert limits.suffix(price) == suffix


class Conf:
    """The settings of a session."""

    def __init__(self, price: str) -> None:
        self._settings = {"spark.sparkfuse.price.coreHour": price} if price else {}

    def get(self, key: str, default: str) -> str:
        return self._settings.get(key, default)


LIST_PRICE = read_prices(None).core_hour


@pytest.mark.parametrize(
    ("setting", "given", "expected"),
    [
        pytest.param("", None, LIST_PRICE, id="list price of prices.yaml"),
        pytest.param("0.02", None, 0.02, id="platform"),
        pytest.param("0.02", 0.5, 0.5, id="argument"),
        pytest.param("off", None, None, id="switched off"),
    ],
)
def test_price_of_a_core_hour(setting, given, expected):
    """The price comes from the argument, else from the platform's setting, else from the list prices."""
    assert core_hour_price(SimpleNamespace(conf=Conf(setting)), given) == expected


@pytest.mark.parametrize(
    ("prices", "expected"),
    [
        pytest.param("{}", f"{LIST_PRICE:.10g}", id="list price"),
        pytest.param("{cloud: gcp, spot: true}", "0.0126444", id="spot"),
        pytest.param("{core_hour: 0.03, currency: EUR}", "0.03", id="own price"),
        pytest.param("off", "off", id="off"),
    ],
)
def test_platform_gives_its_price_to_jobs(tmp_path, prices, expected):
    """`sparkfuse up` writes the price of a core-hour from sparkfuse.yaml into the properties of jobs."""
    (tmp_path / "sparkfuse.yaml").write_text(f"prices: {prices}\n")
    settings = Settings.from_environment({"SPARKFUSE_CONFIG": str(tmp_path / "sparkfuse.yaml")})

    assert price_of_jobs(settings) == expected


@pytest.mark.parametrize("wrong", [{"max_seconds": -1}, {"max_spill": "much"}, {"on_warn": "page"}])
def test_wrong_arguments_are_refused_at_once(wrong):
    with pytest.raises(ValueError, match=r"limit|size|on_warn"):
        CircuitBreaker(None, **wrong)


def test_closed_fuse_raises_nothing(circuit_breaker):
    """A closed fuse raises no exception, and the guard re-raises other exceptions unchanged."""
    circuit_breaker.check()
    with circuit_breaker.guard("write orders"):
        pass
    with pytest.raises(KeyError), circuit_breaker.guard("write orders"):
        raise KeyError("x")

    assert circuit_breaker.should_continue()


def test_open_fuse_raises_rule_evidence_and_override(circuit_breaker, jvm):
    """`check` and the start of `guard` raise an exception about the plugin's last event."""
    jvm.blow()
    with pytest.raises(FuseBlownError) as raised:
        circuit_breaker.check()
    with pytest.raises(FuseBlownError), circuit_breaker.guard("write orders"):
        pytest.fail("the block must not start")

    assert not circuit_breaker.should_continue()
    assert str(raised.value) == (
        "the fuse has blown. Rule: stage_runaway_spill. Evidence: 3.1 GB spilled. Look at: f00d. "
        "To override: set spark.sparkfuse.fuse.hold=true."
    )


def test_cancelled_action_becomes_fuse_blown(circuit_breaker):
    """If Spark's exception contains the reason of an act, the exception becomes the cause of a FuseBlownError."""
    with pytest.raises(FuseBlownError) as raised, circuit_breaker.guard("write orders"):
        raise RuntimeError(f"SparkException: Job 1 cancelled because {REASON}\n\tat org.apache.spark...")

    assert raised.value.rule == "stage_runaway_spill"
    assert raised.value.evidence == "3.1 GB spilled while no task ended for 40 s"
    assert raised.value.look_at == "http://grafana/d/run?x=1.5"
    assert raised.value.override == "set spark.sparkfuse.fuse.hold=true, or spark.sparkfuse.fuse=off, and run again"
    assert isinstance(raised.value.__cause__, RuntimeError)


def test_stopped_application_gets_reason_from_state(circuit_breaker, jvm):
    """If `sc.stop()` ends a block, the acts since the start of the block explain the failure.

    The exception after `sc.stop()` contains no reason.
    """

    def write() -> None:
        jvm.blow(action="stop_application")
        raise RuntimeError("Job 1 cancelled because SparkContext was shut down")

    with pytest.raises(FuseBlownError, match="write orders"), circuit_breaker.guard("write orders"):
        write()


def test_warning_does_not_explain_failure(circuit_breaker, jvm):
    """If a block fails after a warning, its own exception is raised."""

    def write() -> None:
        jvm.blow(action="warn")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), circuit_breaker.guard("write orders"):
        write()


@pytest.mark.parametrize(
    "spark", [None, SimpleNamespace(), ConnectSession(), SimpleNamespace(sparkContext=SimpleNamespace(_jvm=None))]
)
def test_without_jvm_every_check_passes(spark):
    """Without a JVM, plugin or session, as under Spark Connect, each check passes.

    The guard still reads the reason from exceptions.
    """
    circuit_breaker = CircuitBreaker(spark)
    circuit_breaker.check()
    circuit_breaker.hold()
    circuit_breaker.release()
    circuit_breaker.reset()
    with pytest.raises(FuseBlownError), circuit_breaker.guard("write orders"):
        raise RuntimeError(f"SparkConnectGrpcException: Job 1 cancelled because {REASON}")

    assert circuit_breaker.should_continue()
    assert circuit_breaker.state() == UNREACHABLE


def test_hold_and_reset_reach_the_plugin(circuit_breaker, jvm):
    """`hold`, `release` and `reset` call the plugin in the driver's JVM."""
    circuit_breaker.hold()
    circuit_breaker.release()
    circuit_breaker.reset()

    assert jvm.calls == [("hold", True), ("hold", False), ("reset",)]


def test_job_code_needs_only_the_standard_library():
    """The module for job code can be imported without site-packages, so it works with any pyspark and pyarrow."""
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT / 'cli')!r}); before = set(sys.modules); import sparkfuse; "
        "assert 'sparkfuse.hook' not in sys.modules; sparkfuse.CircuitBreaker; "
        "print([m for m in sorted(set(sys.modules) - before) "
        "if m.split('.')[0] not in sys.stdlib_module_names | {'sparkfuse'}])"
    )
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"


def test_error_names_the_act_that_stopped_work(circuit_breaker, jvm):
    """If another act failed later, the error still names the act that stopped work."""
    jvm.now = jvm.now | {"state": "open", "events": [EVENT, EVENT | {"outcome": "failed", "rule": "task_stuck"}]}

    with pytest.raises(FuseBlownError) as raised:
        circuit_breaker.check()
    assert raised.value.rule == "stage_runaway_spill"


def test_generator_cannot_be_decorated(circuit_breaker):
    """A generator would run after its block has ended, so it is refused when it is decorated."""

    def rows():
        yield 1

    async def async_rows():
        yield 1

    for function in (rows, async_rows):
        with pytest.raises(TypeError, match="is a generator"):
            circuit_breaker(function)
