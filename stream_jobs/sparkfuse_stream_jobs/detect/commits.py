"""How a step's state is written when a bundle ends: only what was changed, and all of it at once.

PyFlink walks every state that it keeps at hand, changed or not, and waits for the JVM's answer to each write before it
sends the next: at 500 applications a fifth of a step's time. The answers are needed before the bundle ends, for then
the JVM may take a checkpoint, and not before. Requests of one step go through one stream, which the JVM answers in
order (Beam's GrpcStateService), so what is read behind a write sees it.
This stands on the inside of PyFlink's RemoteKeyedStateBackend: whoever changes its version looks here first.
"""

from __future__ import annotations

from typing import Any

ANSWER_SECONDS = 1.0
"""How often somebody who waits for an answer looks whether there is still anybody to give it."""


class Commits:
    """Stands between a step's keyed state and the JVM: passes requests on, and awaits what was written at the end."""

    def __init__(self, backend: Any) -> None:
        """Take the place of the backend's own commit, and of its way to the JVM."""
        handler = backend._map_state_handler  # noqa: SLF001 - PyFlink has no public name for any of these
        self._jvm = handler._underlying  # noqa: SLF001
        self._changed: dict[int, Any] = {}
        self._sent: list[Any] = []
        handler._underlying = self  # noqa: SLF001
        backend.commit = self.commit

    @classmethod
    def of(cls, backend: Any) -> Commits:
        """The one of the backend; a step has one backend and may keep several maps in it."""
        there = backend._map_state_handler._underlying  # noqa: SLF001
        return there if isinstance(there, cls) else cls(backend)

    def changed(self, state: Any) -> None:
        """Something of this internal state of PyFlink was written or taken away."""
        self._changed[id(state)] = state

    def commit(self) -> None:
        """Send what was changed, and wait until the JVM has all of it. Raises RuntimeError when it has not."""
        changed, self._changed = self._changed, {}
        for state in changed.values():
            state.commit()
        sent, self._sent = self._sent, []
        for answer in sent:
            self._await(answer)

    def append_raw(self, state_key: Any, data: bytes) -> None:
        """Send a write; nothing is given that a caller would wait for."""
        self._sent.append(self._jvm.append_raw(state_key, data))

    def clear(self, state_key: Any) -> None:
        """The same for taking all away."""
        self._sent.append(self._jvm.clear(state_key))

    def get_raw(self, state_key: Any, continuation_token: bytes | None = None) -> Any:
        """Ask the JVM."""
        return self._jvm.get_raw(state_key, continuation_token)

    def _await(self, answer: Any) -> None:
        while not answer.wait(timeout=ANSWER_SECONDS):
            if self._jvm._exception:  # noqa: SLF001
                raise self._jvm._exception  # noqa: SLF001
            if self._jvm._done:  # noqa: SLF001
                raise RuntimeError("the JVM took no more of the step's state")
        if error := answer.get().error:
            raise RuntimeError(error)
