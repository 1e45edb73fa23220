"""When a bundle ends, what was changed is sent at once, and the bundle does not end before the JVM has it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from sparkfuse_stream_jobs.detect.state import batched_commits
from sparkfuse_stream_jobs.detect.state.batched_commits import BatchedCommits


class Answer:
    """Beam's future of an answer."""

    def __init__(self, jvm: Jvm, error: str) -> None:
        self.jvm, self.error = jvm, error

    def wait(self, timeout: float) -> bool:
        self.jvm.heard.append("asked")
        return self.jvm.lives

    def get(self) -> Any:
        return SimpleNamespace(error=self.error)


class Jvm:
    """The way to the JVM, which notes what goes by; with ``lives`` no answer ever comes."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self.lives, self.error = True, ""
        self._exception: Exception | None = None
        self._done = False

    def append_raw(self, state_key: str, data: bytes) -> Answer:
        self.heard.append(f"write {state_key}")
        return Answer(self, self.error)

    def clear(self, state_key: str) -> Answer:
        self.heard.append(f"clear {state_key}")
        return Answer(self, self.error)

    def get_raw(self, state_key: str, continuation_token: bytes | None = None) -> str:
        self.heard.append(f"read {state_key}")
        return f"content of {state_key}"


class Backend:
    """As much of PyFlink's keyed state as commits stand on."""

    def __init__(self) -> None:
        self.jvm = Jvm()
        self._map_state_handler = SimpleNamespace(_underlying=self.jvm)

    def commit(self) -> None:
        raise AssertionError("it walks all states")


def written(backend: Backend, name: str) -> Any:
    """A state of PyFlink with something to write: its commit waits for what the way to the JVM gives, if anything."""

    def commit() -> None:
        if answer := backend._map_state_handler._underlying.append_raw(name, b""):
            answer.wait(1)

    return SimpleNamespace(commit=commit)


def test_all_is_sent_before_the_first_answer_is_awaited():
    """Two states of a bundle: both writes, then both answers; what is changed twice is written once."""
    backend = Backend()
    held = BatchedCommits.of(backend)
    first = written(backend, "a")
    for state in (first, written(backend, "b"), first):
        held.mark_changed(state)
    backend.commit()
    assert backend.jvm.heard == ["write a", "write b", "asked", "asked"]


def test_a_bundle_writes_what_it_changed_only():
    """What the bundle before changed is not walked again."""
    backend = Backend()
    BatchedCommits.of(backend).mark_changed(written(backend, "a"))
    backend.commit()
    backend.jvm.heard.clear()
    backend.commit()
    assert backend.jvm.heard == []


def test_what_had_no_room_is_awaited_with_the_rest():
    """A state that PyFlink lets go within a bundle is written at once, and what is cleared goes the same way."""
    backend = Backend()
    held = BatchedCommits.of(backend)
    written(backend, "let go").commit()
    backend._map_state_handler._underlying.clear("all of b")
    assert backend._map_state_handler._underlying.get_raw("c") == "content of c"
    held.mark_changed(written(backend, "a"))
    backend.commit()
    assert backend.jvm.heard == ["write let go", "clear all of b", "read c", "write a", "asked", "asked", "asked"]


def test_a_step_has_one_for_all_of_its_maps():
    """Else the second would stand before the first."""
    backend = Backend()
    assert BatchedCommits.of(backend) is BatchedCommits.of(backend)


def test_a_write_that_the_jvm_refuses_ends_the_bundle():
    """The job goes back to its checkpoint."""
    backend = Backend()
    backend.jvm.error = "no room on the disk"
    BatchedCommits.of(backend).mark_changed(written(backend, "a"))
    with pytest.raises(RuntimeError, match="no room on the disk"):
        backend.commit()


@pytest.mark.parametrize("gone", [{"_exception": ConnectionError("the stream broke")}, {"_done": True}])
def test_nobody_waits_for_a_jvm_that_is_gone(gone: dict[str, Any], monkeypatch: pytest.MonkeyPatch):
    """No answer comes, and the stream says that none will."""
    monkeypatch.setattr(batched_commits, "ANSWER_SECONDS", 0.0)
    backend = Backend()
    BatchedCommits.of(backend).mark_changed(written(backend, "a"))
    backend.jvm.lives = False
    vars(backend.jvm).update(gone)
    with pytest.raises((ConnectionError, RuntimeError)):
        backend.commit()
