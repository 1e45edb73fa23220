"""Determines the outcome of an act: its target ended, the target still runs, or the outcome is unknown.

Rows of `live` decide first: if a stage, its query or its run ended, its tasks have ended. A killed task has ended if it
sends no more rows while other tasks of the run still do. A receipt of the hook is only a hint that the act was
incomplete. Without rows and receipt, the outcome is unknown. A driver that was ended from outside sends no fact of its
end. So for an external stop, the receipt of the external actuator shows the end.
"""

from __future__ import annotations

from sparkfuse_contracts.generated.receipt_pb2 import Receipt
from sparkfuse_native_analytics.fuse_controller.act_registry import ENDED, REFUSED, UNFREED, UNKNOWN, Act
from sparkfuse_native_analytics.fuse_controller.fuse import Times
from sparkfuse_native_analytics.fuse_controller.scope import Run
from sparkfuse_native_analytics.fuse_controller.view import Ending
from sparkfuse_rules.rule import EXTERNAL_STOP, WARN

# Outcomes of acts that did nothing, so that the job continues.
_NOT_DONE = ("held", "refused", "expired", "disagrees", "blind", "failed")
ACTUATOR, KILL_TASK = "actuator", "kill_task"
# Only a row this long after a kill shows whether the task survived: earlier rows may contain facts from before the
# kill.
TASK_ROW_MS = 15_000


def is_answer(receipt: Receipt, action: str) -> bool:
    """Return whether the receipt is from the part that carries out the action: the hook or the external actuator."""
    return receipt.actor == (ACTUATOR if action == EXTERNAL_STOP else "")


class OutcomeBook:
    """Endings and receipts that show the outcomes of acts. The entries are kept only until the act is verified."""

    def __init__(self) -> None:
        self._receipts: dict[str, Receipt] = {}
        self._ended_runs: dict[Run, str] = {}
        self._ended_stages: dict[tuple[Run, tuple[int, int]], str] = {}
        self._ended_queries: dict[tuple[Run, int], str] = {}
        self._task_rows: dict[Run, dict[int, int]] = {}

    def hint(self, receipt: Receipt) -> None:
        """Add a receipt; only the last receipt of a signal is kept."""
        if receipt.outcome != "received":
            self._receipts[receipt.signal_id] = receipt

    def end(self, ending: Ending) -> None:
        """Add the end of a run, stage or query, or a row of a running task."""
        if ending.task_id is not None:
            self._task_rows.setdefault(ending.run, {})[ending.task_id] = ending.at_ms
        elif ending.query_id is not None:
            self._ended_queries[(ending.run, ending.query_id)] = ending.status
        elif ending.stage is not None:
            self._ended_stages[(ending.run, ending.stage)] = ending.status
        else:
            self._ended_runs[ending.run] = ending.status

    def keep(self, runs: set[Run]) -> None:
        """Remove everything about runs other than ``runs``."""
        app_ids = {run.app_id for run in runs}
        self._receipts = {key: each for key, each in self._receipts.items() if each.app_id in app_ids}
        self._ended_runs = {run: status for run, status in self._ended_runs.items() if run in runs}
        self._ended_stages = {key: status for key, status in self._ended_stages.items() if key[0] in runs}
        self._ended_queries = {key: status for key, status in self._ended_queries.items() if key[0] in runs}
        self._task_rows = {run: rows for run, rows in self._task_rows.items() if run in runs}

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
        if act.action == KILL_TASK and (of_task := self._of_task(act)) is not None:
            return of_task
        if receipt is not None and receipt.outcome == ENDED:
            return (UNKNOWN, "the hook reports the end, but no row confirms it")
        return (UNKNOWN, "neither a row nor a receipt shows the outcome")

    def _shown(self, act: Act, receipt: Receipt | None) -> tuple[str, str] | None:
        """Return the outcome that a row or the receipt shows; None if neither shows one yet."""
        if act.action == EXTERNAL_STOP:
            # The rows of a zombie application show its end even before the act, so only the receipt shows that its
            # processes ended.
            if receipt is not None and receipt.outcome == ENDED:
                return (ENDED, receipt.reason)
        elif (ended := self._ended(act)) is not None:
            return (ENDED, ended)
        if receipt is not None and receipt.outcome == UNFREED:
            tasks = f"{receipt.unfreed_tasks} tasks still run: " if receipt.HasField("unfreed_tasks") else ""
            return (UNFREED, f"{tasks}{receipt.reason}")
        if receipt is not None and receipt.outcome in _NOT_DONE:
            return (REFUSED, f"the {receipt.actor or 'hook'} did not act: {receipt.outcome}: {receipt.reason}")
        return None

    def _ended(self, act: Act) -> str | None:
        """Return how the run, stage or query of an act ended; None if no row shows an end."""
        if act.run in self._ended_runs:
            return f"the application {self._ended_runs[act.run]}"
        if act.stage is not None and (act.run, act.stage) in self._ended_stages:
            return f"the stage {self._ended_stages[(act.run, act.stage)]}"
        if act.query_id is not None and (act.run, act.query_id) in self._ended_queries:
            return f"the query {self._ended_queries[(act.run, act.query_id)]}"
        return None

    def _of_task(self, act: Act) -> tuple[str, str] | None:
        """Return what later rows of tasks show about a killed task; None if no task of the run has sent a later row."""
        later = {task for task, at_ms in self._task_rows.get(act.run, {}).items() if at_ms > act.at_ms + TASK_ROW_MS}
        if act.task_id in later:
            return (UNFREED, "the task still sends rows")
        return (ENDED, "other tasks of the run send rows, the task does not") if later else None
