"""The interface of the external actuator to a cluster manager. One file implements it for each manager.

An answer that does not clearly show one running instance of the application is `Unknown`, and nothing is stopped.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True)
class Application:
    """The application that a signal names, with its Spark settings if they are known."""

    app_id: str
    attempt: int
    start_ms: int
    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Running:
    """The manager reports exactly one running instance.

    ``instance`` identifies it, such as the UID of a pod: `stop` ends this instance and no other one. ``attempt`` is
    None if the manager counts no attempts. ``started_ms`` is when the manager started it, in ms since the epoch.
    """

    instance: str
    started_ms: int
    attempt: int | None = None


@dataclass(frozen=True)
class Ended:
    """The manager reports that the application does not run any more."""

    reason: str


@dataclass(frozen=True)
class Unknown:
    """It is not known whether the application runs: no answer, an unclear one, or one about several instances."""

    reason: str


Found = Running | Ended | Unknown


class ManagerError(RuntimeError):
    """The manager did not do what was asked, or did not answer; the text is the reason, without credentials."""


class ClusterManager(Protocol):
    """One cluster manager. Each method takes seconds at most."""

    def find(self, application: Application) -> Found:
        """Return what the manager reports about the application now. Raises ManagerError, which means unknown."""

    def stop(self, application: Application, instance: str) -> None:
        """Ask the manager to end this instance of the application; nothing is done if another one runs.

        The manager may end it later; `find` shows when. Raises ManagerError if nothing was asked.
        """

    def check(self) -> None:
        """Verify that the manager answers and accepts the credentials. Raises ManagerError."""


@contextmanager
def documented_answers() -> Iterator[None]:
    """Raise ManagerError for an answer that has another structure than documented."""
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ManagerError(f"the answer cannot be read: {error!r}") from error


def look(manager: ClusterManager, application: Application) -> Found:
    """Return what the manager reports about the application; `Unknown` if it does not answer clearly."""
    try:
        with documented_answers():
            return manager.find(application)
    except ManagerError as error:
        return Unknown(str(error))


def require_instance(found: Found, instance: str) -> None:
    """Raise ManagerError unless exactly this instance runs."""
    if not isinstance(found, Running):
        raise ManagerError(f"it does not run any more: {found.reason}")
    if found.instance != instance:
        raise ManagerError(f"another instance runs: {found.instance}, not {instance}")
