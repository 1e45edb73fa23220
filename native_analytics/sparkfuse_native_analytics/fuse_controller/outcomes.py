"""Determines the outcome of an act: its target ended, the target still runs, or the outcome is unknown.

Rows of `live` decide first: if a stage, its query or its run ended, its tasks have ended. A killed task has ended if it
sends no more rows while other tasks of the run still do. A receipt of the hook is only a hint that the act was
incomplete, or that it was refused. Without rows and receipt, the outcome is unknown. A driver that was ended from
outside sends no fact of its end. So for an external stop, the receipt of the external actuator shows the end.

Any job can write receipts. If the receipts of a signal contradict each other, the worst one determines the outcome that
people see, and the fuse draws no conclusion from it: it neither widens the next action nor acts earlier.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from sparkfuse_contracts.generated.receipt_pb2 import Receipt
from sparkfuse_native_analytics.fuse_controller.act_registry import ENDED, REFUSED, UNFREED, UNKNOWN, Act
from sparkfuse_native_analytics.fuse_controller.fuse import Times
from sparkfuse_native_analytics.fuse_controller.scope import Run
from sparkfuse_native_analytics.fuse_controller.view import Ending
from sparkfuse_rules.rule import EXTERNAL_STOP, WARN

# Outcomes of acts that did nothing, so that the job continues.
_NOT_DONE = ("held", "refused", "expired", "disagrees", "blind", "failed")
# What a hook writes last about a signal. It writes only one of them, except that it may refuse after `requested`.
_LAST = (*_NOT_DONE, "ended", "unfreed", "warned", "would_act", "would_not_act")
_REQUESTED = "requested"
# The longest text of a receipt, row or finding that the audit log repeats: a longer one could make its record too large
# to be written.
MAX_TEXT = 500
ACTUATOR, KILL_TASK, CANCEL_JOBS, STOP_APPLICATION = "actuator", "kill_task", "cancel_jobs", "stop_application"
# Only a row this long after a kill shows whether the task survived: earlier rows may contain facts from before the
# kill.
TASK_ROW_MS = 15_000


def is_answer(receipt: Receipt, action: str) -> bool:
    """Return whether the receipt is from the part that carries out the action: the hook or the external actuator."""
    return receipt.actor == (ACTUATOR if action == EXTERNAL_STOP else "")


class Outcome(NamedTuple):
    """The outcome of an act. ``contested``: the receipts of its signal contradict each other."""

    outcome: str
    reason: str
    contested: bool = False


class OutcomeBook:
    """Endings and receipts that show the outcomes of acts. The entries are kept only while they can change one."""

    def __init__(self) -> None:
        # For each signal, application and actor: the first receipt of each outcome.
        self._receipts: dict[tuple[str, str, str], dict[str, Receipt]] = {}
        self._ended_runs: dict[Run, str] = {}
        self._ended_stages: dict[tuple[Run, tuple[int, int]], str] = {}
        self._ended_queries: dict[tuple[Run, int], str] = {}
        self._task_rows: dict[Run, dict[int, int]] = {}

    def hint(self, receipt: Receipt) -> None:
        """Add a receipt; a later receipt with the same outcome changes nothing."""
        if receipt.outcome in _LAST or receipt.outcome == _REQUESTED:
            key = (receipt.signal_id, receipt.app_id, receipt.actor)
            self._receipts.setdefault(key, {}).setdefault(receipt.outcome, receipt)

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

    def keep(self, acts: Collection[Act]) -> None:
        """Remove everything that is not about ``acts``."""
        runs, signals = {act.run for act in acts}, {act.signal_id for act in acts}
        self._receipts = {key: each for key, each in self._receipts.items() if key[0] in signals}
        self._ended_runs = {run: status for run, status in self._ended_runs.items() if run in runs}
        self._ended_stages = {key: status for key, status in self._ended_stages.items() if key[0] in runs}
        self._ended_queries = {key: status for key, status in self._ended_queries.items() if key[0] in runs}
        self._task_rows = {run: rows for run, rows in self._task_rows.items() if run in runs}

    def size(self) -> int:
        """Return the number of signals whose receipts are kept."""
        return len(self._receipts)

    def of(self, act: Act, now_ms: int, times: Times) -> Outcome | None:
        """Return the outcome of an act; None while the act may still take effect."""
        receipts = self._receipts_of(act)
        if found := self._shown(act, receipts):
            return found
        if now_ms - act.at_ms < times.cool_down_ms:
            return None
        if act.action == WARN:
            return Outcome(UNFREED, "the finding fires although the owner was warned")
        if act.action == KILL_TASK and (of_task := self._of_task(act)) is not None:
            return of_task
        if ENDED in receipts:
            return Outcome(UNKNOWN, "the hook reports the end, but no row confirms it")
        return Outcome(UNKNOWN, "neither a row nor a receipt shows the outcome")

    def changed(self, act: Act) -> Outcome | None:
        """Return the new outcome of a verified act, or None.

        A later receipt can be worse than the outcome or contradict it. A row that shows the end replaces `unfreed`,
        because the work can end after the time that the hook waits for it.
        """
        receipts = self._receipts_of(act)
        if act.outcome == UNFREED and act.action != EXTERNAL_STOP and (ended := self._ended(act, receipts)) is not None:
            return Outcome(ENDED, ended)
        found = _by_receipts(act, receipts)
        if found is None or (found.outcome, found.contested) == (act.outcome, act.contested):
            return None
        return found if found.outcome == UNFREED or (found.contested and found.outcome == act.outcome) else None

    def _receipts_of(self, act: Act) -> Mapping[str, Receipt]:
        """Return the receipts of the part that carries out the act, by outcome."""
        actor = ACTUATOR if act.action == EXTERNAL_STOP else ""
        return self._receipts.get((act.signal_id, act.run.app_id, actor), {})

    def _shown(self, act: Act, receipts: Mapping[str, Receipt]) -> Outcome | None:
        """Return the outcome that a row or the receipts show; None if neither shows one yet."""
        # The rows of a zombie application show its end even before the act, so for an external stop only the receipt
        # shows that its processes ended.
        if act.action != EXTERNAL_STOP and (ended := self._ended(act, receipts)) is not None:
            return Outcome(ENDED, ended)
        return _by_receipts(act, receipts)

    def _ended(self, act: Act, receipts: Mapping[str, Receipt]) -> str | None:
        """Return how the run, stage or query of an act ended; None if no row shows an end."""
        if act.run in self._ended_runs:
            return f"the application {self._ended_runs[act.run]}"
        if act.action == STOP_APPLICATION:  # the end of a stage does not show that the application ended
            return None
        # Other jobs of the application may still run, so the hook must report too that none does.
        if act.action == CANCEL_JOBS and (ENDED not in receipts or UNFREED in receipts):
            return None
        if act.stage is not None and (act.run, act.stage) in self._ended_stages:
            return f"the stage {self._ended_stages[(act.run, act.stage)]}"
        if act.query_id is not None and (act.run, act.query_id) in self._ended_queries:
            return f"the query {self._ended_queries[(act.run, act.query_id)]}"
        return None

    def _of_task(self, act: Act) -> Outcome | None:
        """Return what later rows of tasks show about a killed task; None if no task of the run has sent a later row."""
        later = {task for task, at_ms in self._task_rows.get(act.run, {}).items() if at_ms > act.at_ms + TASK_ROW_MS}
        if act.task_id in later:
            return Outcome(UNFREED, "the task still sends rows")
        return Outcome(ENDED, "other tasks of the run send rows, the task does not") if later else None


def _by_receipts(act: Act, receipts: Mapping[str, Receipt]) -> Outcome | None:
    """Return the outcome that receipts show, the worst one first; None if they show none."""
    contradicted = sum(outcome in receipts for outcome in _LAST) > 1
    note = " (receipts contradict each other)" if contradicted else ""
    if UNFREED in receipts:
        return Outcome(UNFREED, shortened(_unfreed(receipts[UNFREED])) + note, contradicted)
    refused = next((receipts[outcome] for outcome in _NOT_DONE if outcome in receipts), None)
    if refused is not None:
        reason = f"the {refused.actor or 'hook'} did not act: {refused.outcome}: {refused.reason}"
        # After `requested` the hook may have acted, so this refusal shortens no waiting time.
        return Outcome(REFUSED, shortened(reason) + note, contradicted or _REQUESTED in receipts)
    if act.action == EXTERNAL_STOP and ENDED in receipts:
        return Outcome(ENDED, shortened(receipts[ENDED].reason) + note, contradicted)
    return None


def shortened(text: str, limit: int = MAX_TEXT) -> str:
    """Return at most the first ``limit`` characters, with a mark if some are missing."""
    return text if len(text) <= limit else f"{text[:limit]}…"


def _unfreed(receipt: Receipt) -> str:
    """Return what a receipt reports about work that still runs."""
    tasks = f"{receipt.unfreed_tasks} tasks still run: " if receipt.HasField("unfreed_tasks") else ""
    return f"{tasks}{receipt.reason}"
