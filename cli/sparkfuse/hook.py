"""The fuse for job code. This module uses only the standard library. Without the plugin, every check passes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

UNREACHABLE: dict[str, Any] = {"mode": "unknown", "hold": False, "watching": False, "state": "unknown", "events": []}
"""Result of `CircuitBreaker.state` under Spark Connect, without the plugin, or with a dead driver JVM."""

# Written by the plugin's ReasonText; Spark includes it in the exception of a cancelled action.
_REASON = re.compile(
    r"\[SPARKFUSE_FUSE_BLOWN\] (?P<deed>.*?)\. Rule: (?P<rule>.*?)\. Evidence: (?P<evidence>.*?)"
    r"(?:\. Look at: (?P<look_at>.*?))?\. To override: (?P<override>.*?)\. \(signal (?P<signal_id>[^)]*)\)",
    re.DOTALL,
)


class FuseBlownError(RuntimeError):
    """Sparkfuse stopped a part of this job or warns about it.

    Attributes:
        rule: id of the rule.
        evidence: a sentence with the name of the stage and the numbers.
        override: what the owner can do to allow this work.
        look_at: address of the dashboard or id of the finding; may be empty.
        doing: the text passed to `CircuitBreaker.guard`; empty for `check`.
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
    """Checks in the driver's JVM whether this job may continue; if the check is not possible, the job may continue.

    The fuse is open from the first warning or act until `reset`, so a loop that checks `should_continue` does not start
    again.

    Args:
        spark: the session (or context) of the job. Under Spark Connect there is no JVM, and only `guard` works:
            it converts an exception that contains the reason.
    """

    def __init__(self, spark: object) -> None:
        self._spark = spark

    def state(self) -> dict[str, Any]:
        """Return mode, hold, whether signals arrive and the fuse is open, and the last events; else `UNREACHABLE`."""
        try:
            state = json.loads(self._fuse().state())
        except Exception:  # the job may continue; the caller sees the state "unknown"
            return dict(UNREACHABLE)
        return state if isinstance(state, dict) else dict(UNREACHABLE)

    def should_continue(self) -> bool:
        """Return whether the fuse is not open."""
        return str(self.state()["state"]) != "open"

    def check(self) -> None:
        """Raise if the fuse is open.

        Raises:
            FuseBlownError: a signal has warned of this application or stopped a part of it.
        """
        state = self.state()
        if state["state"] == "open" and state["events"]:
            raise _from_event(state["events"][-1], "")

    @contextmanager
    def guard(self, doing: str) -> Iterator[None]:
        """Check before the block, and raise `FuseBlownError` if Sparkfuse caused the block to fail.

        Raises:
            FuseBlownError: before the block like `check`, or because a signal made the block fail, with Spark's
                exception as its cause. All other exceptions pass unchanged.
        """
        self.check()
        seen = _generations(self.state())
        try:
            yield
        except FuseBlownError:
            raise
        except Exception as error:
            blown = _from_text(str(error), doing) or self._stopped_since(seen, doing)
            if blown is None:
                raise
            raise blown from error

    def reset(self) -> None:
        """Close the fuse, after the job has handled the problem."""
        self._call("reset")

    def hold(self) -> None:
        """Prevent Sparkfuse from stopping anything in this application."""
        self._call("hold", True)

    def release(self) -> None:
        """Remove the hold."""
        self._call("hold", False)

    def _stopped_since(self, seen: set[int], doing: str) -> FuseBlownError | None:
        """Return the reason from the plugin's state, because Spark gives no reason when it stops an application."""
        for event in reversed(self.state()["events"]):
            stopped = event.get("outcome") in ("requested", "ended", "unfreed") and event.get("action") != "warn"
            if stopped and event.get("generation") not in seen:
                return _from_event(event, doing)
        return None

    def _call(self, method: str, *arguments: bool) -> None:
        try:
            getattr(self._fuse(), method)(*arguments)
        except Exception:  # without the plugin there is nothing to call
            return

    def _fuse(self) -> Any:
        context = getattr(self._spark, "sparkContext", self._spark)
        return context._jvm.io.sparkfuse.spark.Fuse  # type: ignore[attr-defined]  # noqa: SLF001  # the only way in


def _generations(state: dict[str, Any]) -> set[int]:
    return {event.get("generation") for event in state["events"]}


def _from_event(event: dict[str, Any], doing: str) -> FuseBlownError:
    look_at = event.get("dashboard_url") or event.get("finding_id") or ""
    return FuseBlownError(event.get("rule", ""), event.get("evidence", ""), event.get("override", ""), look_at, doing)


def _from_text(text: str, doing: str) -> FuseBlownError | None:
    found = _REASON.search(text)
    if found is None:
        return None
    return FuseBlownError(found["rule"], found["evidence"], found["override"], found["look_at"] or "", doing)
