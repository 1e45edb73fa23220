"""The interface of the external actuator to a cluster manager. Each manager is implemented in its own file.

If an answer does not clearly show one running instance or none, the state is `Unknown`, and nothing is stopped.
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

    ``instance`` identifies the running instance, for example by the UID of a pod: `stop` ends only this instance.
    ``attempt`` is None if the manager counts no attempts. ``started_ms`` is the time at which the manager started the
    instance, in ms since the epoch.
    """

    instance: str
    started_ms: int
    attempt: int | None = None


@dataclass(frozen=True)
class Ended:
    """The manager reports that the application no longer runs."""

    reason: str


@dataclass(frozen=True)
class Unknown:
    """Whether the application runs is unknown: no answer, an unclear answer, or several instances."""

    reason: str


Found = Running | Ended | Unknown


class ManagerError(RuntimeError):
    """The manager refused a request or did not answer; the message is the reason and contains no credentials."""


class ClusterManager(Protocol):
    """One cluster manager. Each method returns within seconds."""

    def find(self, application: Application) -> Found:
        """Return what the manager reports about the application.

        If this method raises ManagerError, the state is unknown.
        """

    def stop(self, application: Application, instance: str) -> None:
        """Ask the manager to end this instance of the application; do nothing if another instance runs.

        The manager may end the instance later; `find` shows when it has ended. Raises ManagerError if the request
        failed.
        """

    def check(self) -> None:
        """Verify that the manager answers and accepts the credentials. Raises ManagerError."""


@contextmanager
def documented_answers() -> Iterator[None]:
    """Raise ManagerError if the answer that is read in the block does not have the documented structure."""
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
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
        raise ManagerError(f"the application no longer runs: {found.reason}")
    if found.instance != instance:
        raise ManagerError(f"another instance runs: {found.instance}, not {instance}")
