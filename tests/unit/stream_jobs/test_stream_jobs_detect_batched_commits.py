"""Tests that changed state is written in one batch at the end of a bundle.

The bundle ends only after the JVM has stored the batch.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from sparkfuse_stream_jobs.detect.state import batched_commits
from sparkfuse_stream_jobs.detect.state.batched_commits import BatchedCommits


class Answer:
    """A fake of Beam's future with the JVM's answer."""

    def __init__(self, jvm: Jvm, error: str) -> None:
        self.jvm, self.error = jvm, error

    def wait(self, timeout: float) -> bool:
        self.jvm.requests.append("waited")
        return self.jvm.alive

    def get(self) -> Any:
        return SimpleNamespace(error=self.error)


class Jvm:
    """A fake of the stream to the JVM that records all requests; if ``alive`` is false, no answer ever arrives."""

    def __init__(self) -> None:
        self.requests: list[str] = []
        self.alive, self.error = True, ""
        self._exception: Exception | None = None
        self._done = False

    def append_raw(self, state_key: str, data: bytes) -> Answer:
        self.requests.append(f"write {state_key}")
        return Answer(self, self.error)

    def clear(self, state_key: str) -> Answer:
        self.requests.append(f"clear {state_key}")
        return Answer(self, self.error)

    def get_raw(self, state_key: str, continuation_token: bytes | None = None) -> str:
        self.requests.append(f"read {state_key}")
        return f"content of {state_key}"


class Backend:
    """The part of PyFlink's keyed state that commits use."""

    def __init__(self) -> None:
        self.jvm = Jvm()
        self._map_state_handler = SimpleNamespace(_underlying=self.jvm)

    def commit(self) -> None:
        raise AssertionError("PyFlink's own commit writes all states")


def written(backend: Backend, name: str) -> Any:
    """Return a changed PyFlink state whose commit waits for the answer of the JVM."""

    def commit() -> None:
        if answer := backend._map_state_handler._underlying.append_raw(name, b""):
            answer.wait(1)

    return SimpleNamespace(commit=commit)


def test_all_writes_are_sent_before_the_first_wait():
    """At the end of a bundle, all changed states are written before the first answer is awaited.

    A state that changed twice is written once.
    """
    backend = Backend()
    commits = BatchedCommits.of(backend)
    first = written(backend, "a")
    for state in (first, written(backend, "b"), first):
        commits.mark_changed(state)
    backend.commit()
    assert backend.jvm.requests == ["write a", "write b", "waited", "waited"]


def test_bundle_writes_only_its_own_changes():
    """A bundle writes only the states that it changed itself, and none that the previous bundle changed."""
    backend = Backend()
    BatchedCommits.of(backend).mark_changed(written(backend, "a"))
    backend.commit()
    backend.jvm.requests.clear()
    backend.commit()
    assert backend.jvm.requests == []


def test_writes_within_the_bundle_are_awaited_at_its_end():
    """When a bundle ends, it also waits for the answers to writes and removals that were sent within the bundle.

    For example, PyFlink writes a state when it evicts the state from its cache.
    """
    backend = Backend()
    commits = BatchedCommits.of(backend)
    written(backend, "evicted").commit()
    backend._map_state_handler._underlying.clear("all of b")
    assert backend._map_state_handler._underlying.get_raw("c") == "content of c"
    commits.mark_changed(written(backend, "a"))
    backend.commit()
    assert backend.jvm.requests == [
        "write evicted",
        "clear all of b",
        "read c",
        "write a",
        "waited",
        "waited",
        "waited",
    ]


def test_step_has_one_instance_for_all_maps():
    """A step has one committing instance for all its maps, because a second instance would wrap the first one."""
    backend = Backend()
    assert BatchedCommits.of(backend) is BatchedCommits.of(backend)


def test_rejected_write_fails_the_bundle():
    """If the JVM rejects a write, the bundle fails, so the job restarts from its checkpoint."""
    backend = Backend()
    backend.jvm.error = "no space on the disk"
    BatchedCommits.of(backend).mark_changed(written(backend, "a"))
    with pytest.raises(RuntimeError, match="no space on the disk"):
        backend.commit()


@pytest.mark.parametrize("gone", [{"_exception": ConnectionError("the stream broke")}, {"_done": True}])
def test_lost_jvm_ends_the_wait(gone: dict[str, Any], monkeypatch: pytest.MonkeyPatch):
    """If the stream to the JVM ended, the bundle stops waiting for an answer."""
    monkeypatch.setattr(batched_commits, "ANSWER_SECONDS", 0.0)
    backend = Backend()
    BatchedCommits.of(backend).mark_changed(written(backend, "a"))
    backend.jvm.alive = False
    vars(backend.jvm).update(gone)
    with pytest.raises((ConnectionError, RuntimeError)):
        backend.commit()
