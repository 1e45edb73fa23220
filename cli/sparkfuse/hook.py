"""The fuse in job code: standard library only, beside any pyspark and pyarrow; without the plugin it does nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

UNREACHABLE: dict[str, Any] = {"mode": "unknown", "hold": False, "watching": False, "state": "unknown", "events": []}
"""What `CircuitBreaker.state` says under Spark Connect, without the plugin, or with a dead driver JVM."""

# The plugin's ReasonText writes it, and Spark carries it in the exception of a cancelled action.
_REASON = re.compile(
    r"\[SPARKFUSE_FUSE_BLOWN\] (?P<deed>.*?)\. Rule: (?P<rule>.*?)\. Evidence: (?P<evidence>.*?)"
    r"(?:\. Look at: (?P<look_at>.*?))?\. To override: (?P<override>.*?)\. \(signal (?P<signal_id>[^)]*)\)",
    re.DOTALL,
)


class FuseBlown(RuntimeError):
    """Sparkfuse stopped this job, or warns of it; says which rule, on what evidence, and how to override.

    Attributes:
        rule: id of the rule that blew.
        evidence: the numbers, in a sentence.
        override: what the owner does when the work is meant.
        look_at: address of the dashboard or name of the finding; empty when there is none.
        doing: what the job was doing, as given to `CircuitBreaker.guard`; empty for `check`.
    """

    def __init__(self, rule: str, evidence: str, override: str, look_at: str = "", doing: str = "") -> None:
        self.rule = rule
        self.evidence = evidence
        self.override = override
        self.look_at = look_at
        self.doing = doing
        super().__init__(rule, evidence, override, look_at, doing)

    def __str__(self) -> str:
        where = f" at '{self.doing}'" if self.doing else ""
        look_at = f" Look at: {self.look_at}." if self.look_at else ""
        return (
            f"the fuse has blown{where}. Rule: {self.rule}. Evidence: {self.evidence}.{look_at} "
            f"To override: {self.override}."
        )


class CircuitBreaker:
    """Asks the plugin in the driver's JVM whether this job may go on; whatever it cannot ask is a yes.

    Open from the first warning or act until `reset`, so that a loop which asks `should_continue` stays ended.

    Args:
        spark: the session (or context) of the job; under Spark Connect there is no JVM to ask, and only `guard`
            still translates an exception that carries the reason.
    """

    def __init__(self, spark: object) -> None:
        self._spark = spark

    def state(self) -> dict[str, Any]:
        """Mode, hold, whether signals arrive, open or closed, and the last events; `UNREACHABLE` without a plugin."""
        try:
            state = json.loads(self._fuse().state())
        except Exception:  # fails open; the caller sees the state "unknown"
            return dict(UNREACHABLE)
        return state if isinstance(state, dict) else dict(UNREACHABLE)

    def should_continue(self) -> bool:
        """Whether nothing speaks against going on."""
        return str(self.state()["state"]) != "open"

    def check(self) -> None:
        """Return at once, or raise what speaks against going on.

        Raises:
            FuseBlown: a signal has warned of this application or stopped a part of it.
        """
        state = self.state()
        if state["state"] == "open" and state["events"]:
            raise _from_event(state["events"][-1], "")

    @contextmanager
    def guard(self, doing: str) -> Iterator[None]:
        """Check before the block, and say in plain words when Sparkfuse is why the block failed.

        Raises:
            FuseBlown: before the block as `check` does; or because the block failed of a signal, with Spark's exception
                as its cause. All other exceptions pass unchanged.
        """
        self.check()
        seen = _generations(self.state())
        try:
            yield
        except FuseBlown:
            raise
        except Exception as error:
            blown = _from_text(str(error), doing) or self._stopped_since(seen, doing)
            if blown is None:
                raise
            raise blown from error

    def reset(self) -> None:
        """Close the fuse, after the job has dealt with what happened."""
        self._tell("reset")

    def hold(self) -> None:
        """From now on nothing of this application is stopped."""
        self._tell("hold", True)

    def release(self) -> None:
        """Take the hold away."""
        self._tell("hold", False)

    def _stopped_since(self, seen: set[int], doing: str) -> FuseBlown | None:
        """Stopping a whole application carries no reason in its exception: the plugin's state does."""
        for event in reversed(self.state()["events"]):
            stopped = event.get("outcome") == "acted" and event.get("action") != "warn"
            if stopped and event.get("generation") not in seen:
                return _from_event(event, doing)
        return None

    def _tell(self, method: str, *arguments: bool) -> None:
        try:
            getattr(self._fuse(), method)(*arguments)
        except Exception:  # fails open: without a plugin there is nothing to tell
            return

    def _fuse(self) -> Any:
        context = getattr(self._spark, "sparkContext", self._spark)
        return context._jvm.io.sparkfuse.spark.Fuse  # type: ignore[attr-defined]  # noqa: SLF001  # the only way in


def _generations(state: dict[str, Any]) -> set[int]:
    return {event.get("generation") for event in state["events"]}


def _from_event(event: dict[str, Any], doing: str) -> FuseBlown:
    look_at = event.get("dashboard_url") or event.get("finding_id") or ""
    return FuseBlown(event.get("rule", ""), event.get("evidence", ""), event.get("override", ""), look_at, doing)


def _from_text(text: str, doing: str) -> FuseBlown | None:
    found = _REASON.search(text)
    if found is None:
        return None
    return FuseBlown(found["rule"], found["evidence"], found["override"], found["look_at"] or "", doing)
