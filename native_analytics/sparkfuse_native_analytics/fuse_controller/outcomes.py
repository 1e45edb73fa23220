"""What became of an act: the stage ended, it still runs, or nobody knows.

The controller believes rows of `live` first: a stage that ended, or whose run ended, is freed. A receipt of the hook
is a hint that the act was incomplete; without any sign the outcome is unknown.
"""

from __future__ import annotations

from sparkfuse_contracts.generated.receipt_pb2 import Receipt
from sparkfuse_native_analytics.fuse_controller.act_registry import ENDED, REFUSED, UNFREED, UNKNOWN, Act
from sparkfuse_native_analytics.fuse_controller.fuse import Times
from sparkfuse_native_analytics.fuse_controller.scope import Run
from sparkfuse_native_analytics.fuse_controller.view import Ending

# Results with which the hook did nothing; the job runs on.
_NOT_DONE = ("held", "refused", "expired", "disagrees", "blind", "failed")
WARN = "warn"


class OutcomeBook:
    """The signs of what became of acts. Bounded by the acts that are not verified."""

    def __init__(self) -> None:
        self._receipts: dict[str, Receipt] = {}
        self._ended_runs: dict[Run, str] = {}
        self._ended_stages: dict[tuple[Run, tuple[int, int]], str] = {}

    def hint(self, receipt: Receipt) -> None:
        """Add a receipt; the last one of a signal is kept."""
        if receipt.outcome != "received":
            self._receipts[receipt.signal_id] = receipt

    def end(self, ending: Ending) -> None:
        """Add the end of a run or stage."""
        if ending.stage is None:
            self._ended_runs[ending.run] = ending.status
        else:
            self._ended_stages[(ending.run, ending.stage)] = ending.status

    def keep(self, runs: set[Run]) -> None:
        """Forget everything about other runs."""
        app_ids = {run.app_id for run in runs}
        self._receipts = {key: each for key, each in self._receipts.items() if each.app_id in app_ids}
        self._ended_runs = {run: status for run, status in self._ended_runs.items() if run in runs}
        self._ended_stages = {key: status for key, status in self._ended_stages.items() if key[0] in runs}

    def of(self, act: Act, now_ms: int, times: Times) -> tuple[str, str] | None:
        """Return outcome and reason of an act; None while it may still take effect."""
        if act.run in self._ended_runs:
            return (ENDED, f"the application {self._ended_runs[act.run]}")
        if act.stage is not None and (act.run, act.stage) in self._ended_stages:
            return (ENDED, f"the stage {self._ended_stages[(act.run, act.stage)]}")
        receipt = self._receipts.get(act.signal_id)
        if receipt is not None and receipt.app_id == act.run.app_id:
            if receipt.outcome == "unfreed":
                return (UNFREED, f"{receipt.unfreed_tasks} tasks still run: {receipt.reason}")
            if receipt.outcome in _NOT_DONE:
                return (REFUSED, f"the hook did not act: {receipt.outcome}: {receipt.reason}")
        if now_ms - act.at_ms < times.cool_down_ms:
            return None
        if act.action == WARN:
            return (UNFREED, "the finding fires although the owner was warned")
        if receipt is not None and receipt.outcome == "ended":
            return (UNKNOWN, "the hook reports the end, but no row confirms it")
        return (UNKNOWN, "neither a row nor a receipt shows the outcome")
