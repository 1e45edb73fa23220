"""Raises `AirflowFailException`, which Airflow does not retry, for failures that a retry would only repeat."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any

from sparkfuse.airflow.store import StoreUnreachableError, verdict_of_application
from sparkfuse.airflow.verdict import NEVER, Verdict, verdict_of_exception

STORE = "SPARKFUSE_CLICKHOUSE_URL"
# The factor by which Airflow's back-off grows from retry to retry, for versions in which the setting is a factor.
BACK_OFF_FACTOR = 2.0
_APPLICATION_ID = re.compile(r"\b(?:application_\d{10,14}_\d{4,}|app-\d{14}-\d{4,}|spark-[0-9a-f]{32})\b")
# Attributes in which Airflow's hook for spark-submit keeps the application id that it found in the output.
_HOOK_ATTRIBUTES = ("_yarn_application_id",)
_log = logging.getLogger("airflow.task.sparkfuse")

ApplicationId = Callable[[], "str | None"]
# Exceptions that a task raises to choose its own state. The exceptions are listed by name, because their modules differ
# between Airflow 2 and 3.
_OWN_STATES = frozenset(
    {
        "AirflowSkipException",
        "AirflowFailException",
        "AirflowRescheduleException",
        "AirflowSensorTimeout",
        "TaskDeferred",
    }
)


@contextmanager
def refuse_doomed_retries(
    application_id: ApplicationId | None = None, refuse: Collection[str] = (NEVER,)
) -> Iterator[None]:
    """Fail an Airflow task without further retries if a retry of its Spark job would fail in the same way.

    Use this context manager as a decorator of a task's function, or in a ``with`` statement around the task's code. The
    verdict comes from the exception if Spark raised it. Otherwise the verdict comes from Sparkfuse's store, if
    ``SPARKFUSE_CLICKHOUSE_URL`` is set and the application id is known. Without a verdict, and for transient failures,
    the exception passes unchanged, so Airflow retries as configured. The verdict is written to the task's log.

    Args:
        application_id: returns Spark's application id after the failure; by default the exception is searched for it.
        refuse: the verdicts on which retries are refused, ``never`` or ``larger``.

    Raises:
        AirflowFailException: the retry is refused; its cause is the original exception.
    """
    try:
        yield
    except Exception as error:
        verdict = None if _decides_by_itself(error) else _verdict(error, application_id)
        if verdict is None:
            raise
        if verdict.retry not in refuse:
            _log.warning("%s Airflow retries the task as configured.", verdict)
            raise
        _log.error("%s No further retries.", verdict)
        raise _fail_exception()(str(verdict)) from error


def guarded(operator_class: type[Any], refuse: Collection[str] = (NEVER,)) -> type[Any]:
    """Return a subclass of an operator whose tasks refuse doomed retries and wait longer from retry to retry.

    Exponential back-off is switched on unless the task or its default arguments set it.
    """

    class Guarded(operator_class):  # type: ignore[misc]  # the base is a parameter
        def __init__(self, **arguments: Any) -> None:
            super().__init__(**arguments)
            _switch_on_back_off(self)

        def execute(self, context: Any) -> Any:
            with refuse_doomed_retries(lambda: _id_of_operator(self), refuse):
                return super().execute(context)

    Guarded.__name__ = operator_class.__name__
    Guarded.__qualname__ = operator_class.__qualname__
    Guarded.__doc__ = operator_class.__doc__
    return Guarded


def _verdict(error: Exception, application_id: ApplicationId | None) -> Verdict | None:
    found = verdict_of_exception(error)
    url = os.environ.get(STORE, "").strip()
    if found is not None or not url:
        return found
    app_id = (application_id() if application_id else None) or _id_in_text(error)
    if app_id is None:
        return None
    try:
        return verdict_of_application(url, app_id)
    except StoreUnreachableError as unreachable:
        _log.warning("Sparkfuse has no verdict on %s, so the retry is not refused: %s.", app_id, unreachable)
        return None


def _switch_on_back_off(operator: Any) -> None:
    if not operator.retry_exponential_backoff:
        # In old versions of Airflow the setting for exponential back-off is a flag. In new versions the setting is a
        # factor, and True counts as 1, which means no back-off.
        flag = isinstance(operator.retry_exponential_backoff, bool)
        operator.retry_exponential_backoff = True if flag else BACK_OFF_FACTOR


def _id_of_operator(operator: Any) -> str | None:
    hook = getattr(operator, "_hook", None)
    return next((found for name in _HOOK_ATTRIBUTES if (found := getattr(hook, name, None))), None)


def _id_in_text(error: BaseException) -> str | None:
    found = _APPLICATION_ID.search(str(error))
    return found[0] if found else None


def _decides_by_itself(error: Exception) -> bool:
    """Return whether the task chose its own state, for example with a skip or a deferral."""
    return any(each.__name__ in _OWN_STATES for each in type(error).__mro__)


def _fail_exception() -> type[Exception]:
    try:
        from airflow.sdk.exceptions import AirflowFailException
    except ImportError:  # Airflow 2
        from airflow.exceptions import AirflowFailException
    fail: type[Exception] = AirflowFailException
    return fail
