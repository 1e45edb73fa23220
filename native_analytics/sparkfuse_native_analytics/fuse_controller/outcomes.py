"""Determines the outcome of an act: the stage ended, the stage still runs, or the outcome is unknown.

Rows of `live` decide first: if a stage or its run ended, its tasks are free. A receipt of the hook is only a hint that
the act was incomplete. Without rows and receipt, the outcome is unknown. A driver that was ended from outside sends no
fact of its end, so for an external stop the receipt of the external actuator shows the end.
"""

from __future__ import annotations

from sparkfuse_contracts.generated.receipt_pb2 import Receipt
from sparkfuse_native_analytics.fuse_controller.act_registry import ENDED, REFUSED, UNFREED, UNKNOWN, Act
from sparkfuse_native_analytics.fuse_controller.fuse import Times
from sparkfuse_native_analytics.fuse_controller.scope import Run
from sparkfuse_native_analytics.fuse_controller.view import Ending
from sparkfuse_rules.rule import EXTERNAL_STOP

# Results of a hook that did nothing, so that the job continues.
_NOT_DONE = ("held", "refused", "expired", "disagrees", "blind", "failed")
WARN = "warn"
ACTUATOR = "actuator"


def is_answer(receipt: Receipt, action: str) -> bool:
    """Return whether a receipt is from the one who carries out the action: the hook, or the external actuator."""
    return receipt.actor == (ACTUATOR if action == EXTERNAL_STOP else "")


class OutcomeBook:
    """The endings and receipts that show the outcomes of acts; kept only for acts that are not verified yet."""

    def __init__(self) -> None:
        self._receipts: dict[str, Receipt] = {}
        self._ended_runs: dict[Run, str] = {}
        self._ended_stages: dict[tuple[Run, tuple[int, int]], str] = {}

    def hint(self, receipt: Receipt) -> None:
        """Add a receipt; only the last receipt of a signal is kept."""
        if receipt.outcome != "received":
            self._receipts[receipt.signal_id] = receipt

    def end(self, ending: Ending) -> None:
        """Add the end of a run or stage."""
        if ending.stage is None:
            self._ended_runs[ending.run] = ending.status
        else:
            self._ended_stages[(ending.run, ending.stage)] = ending.status

    def keep(self, runs: set[Run]) -> None:
        """Remove everything about runs other than ``runs``."""
        app_ids = {run.app_id for run in runs}
        self._receipts = {key: each for key, each in self._receipts.items() if each.app_id in app_ids}
        self._ended_runs = {run: status for run, status in self._ended_runs.items() if run in runs}
        self._ended_stages = {key: status for key, status in self._ended_stages.items() if key[0] in runs}

    def of(self, act: Act, now_ms: int, times: Times) -> tuple[str, str] | None:
        """Return outcome and reason of an act; None while the act may still take effect."""
        receipt = self._receipts.get(act.signal_id)
        if receipt is not None and (receipt.app_id != act.run.app_id or not is_answer(receipt, act.action)):
            receipt = None
        if found := self._shown(act, receipt):
            return found
        if now_ms - act.at_ms < times.cool_down_ms:
            return None
        if act.action == WARN:
            return (UNFREED, "the finding fires although the owner was warned")
        if receipt is not None and receipt.outcome == ENDED:
            return (UNKNOWN, "the hook reports the end, but no row confirms it")
        return (UNKNOWN, "neither a row nor a receipt shows the outcome")

    def _shown(self, act: Act, receipt: Receipt | None) -> tuple[str, str] | None:
        """Return the outcome that a row or the receipt shows; None if it is not known yet."""
        if act.action == EXTERNAL_STOP:
            # A zombie has ended by its rows before the act, so only the receipt shows that its processes ended.
            if receipt is not None and receipt.outcome == ENDED:
                return (ENDED, receipt.reason)
        elif act.run in self._ended_runs:
            return (ENDED, f"the application {self._ended_runs[act.run]}")
        elif act.stage is not None and (act.run, act.stage) in self._ended_stages:
            return (ENDED, f"the stage {self._ended_stages[(act.run, act.stage)]}")
        if receipt is not None and receipt.outcome == UNFREED:
            tasks = f"{receipt.unfreed_tasks} tasks still run: " if receipt.HasField("unfreed_tasks") else ""
            return (UNFREED, f"{tasks}{receipt.reason}")
        if receipt is not None and receipt.outcome in _NOT_DONE:
            return (REFUSED, f"the {receipt.actor or 'hook'} did not act: {receipt.outcome}: {receipt.reason}")
        return None
