"""`CircuitBreaker`, the fuse for job code. Without the plugin, every check passes. Uses only the standard library."""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from sparkfuse.hook_block import Block, Limits
from sparkfuse.hook_driver import core_hour_price, driver_of, fuse_of, log
from sparkfuse.hook_errors import (
    FuseBlownError,
    FuseError,
    FuseWarnedError,
    LimitExceededError,
    from_event,
    from_text,
)

__all__ = ["CircuitBreaker", "FuseBlownError", "FuseError", "FuseWarnedError", "LimitExceededError"]

UNREACHABLE: dict[str, Any] = {"mode": "unknown", "hold": False, "watching": False, "state": "unknown", "events": []}
"""What `CircuitBreaker.state` returns under Spark Connect, without the plugin, or after the driver's JVM has died."""

_STOPPED = ("requested", "ended", "unfreed")
_blocks: ContextVar[tuple[tuple[CircuitBreaker, Block], ...]] = ContextVar("sparkfuse_blocks", default=())


class CircuitBreaker:
    """Limits blocks of job code, and explains why Sparkfuse stopped a block; if it cannot check, the job may continue.

    The fuse is open from the first act until `reset`, so a loop over `should_continue` does not start again.
    Use a breaker as a context manager, as a decorator (also of `async def` functions), or call its `guard`.

    Args:
        spark: the session (or context) of the job, classic or Spark Connect.
        name: name of the breaker in tags, errors and logs.
        max_seconds: limit of a block's time, in seconds.
        max_spill: limit of the bytes spilled to disk, as a number or a string such as 10g.
        max_output_rows: limit of the rows that Spark counts as written.
        max_cost: limit of the cost, which is core-hours times the price.
        price: price of a core-hour; by default that of the platform, or else the list price of rules/prices.yaml.
        on_warn: what to do with a warning: `log` (default), `raise`, or a function that receives the error.
        on_open: a function that receives the error before it is raised.
    """

    def __init__(
        self,
        spark: object,
        name: str = "",
        *,
        max_seconds: float | None = None,
        max_spill: int | str | None = None,
        max_output_rows: int | None = None,
        max_cost: float | None = None,
        price: float | None = None,
        on_warn: str | Callable[[FuseError], object] = "log",
        on_open: Callable[[FuseError], object] | None = None,
    ) -> None:
        if on_warn not in ("log", "raise") and not callable(on_warn):
            raise ValueError(f"on_warn must be log, raise or a function, not {on_warn!r}")
        self.name = name
        self._spark = spark
        self._limits = Limits(max_seconds, max_spill, max_output_rows, max_cost)
        self._limits.suffix(price)
        self._given_price = price
        self._on_warn = on_warn
        self._on_open = on_open
        self._warned_until = 0

    def state(self) -> dict[str, Any]:
        """Return mode, hold, whether signals can arrive, whether the fuse is open, and events; or `UNREACHABLE`."""
        try:
            state = json.loads(fuse_of(self._spark).state())
        except Exception:  # the job may continue; the caller sees the state `unknown`
            return dict(UNREACHABLE)
        return state if isinstance(state, dict) else dict(UNREACHABLE)

    def should_continue(self) -> bool:
        """Return whether the fuse is not open."""
        return str(self.state()["state"]) != "open"

    def check(self) -> None:
        """Raise an error if the fuse is open, and report new warnings as `on_warn` specifies.

        Raises:
            FuseBlownError: a signal has stopped a part of this application.
            FuseWarnedError: a signal warned, or a hold prevented its act; only with `on_warn="raise"`.
        """
        state = self.state()
        stops = _stops(state)
        if state["state"] == "open" and stops:
            raise self._opened(from_event(stops[-1], ""))
        self._report_warnings(state["events"])

    @contextmanager
    def guard(self, doing: str = "") -> Iterator[None]:
        """Call `check`, then run a block with the limits; raise a `FuseError` if Sparkfuse made the block fail.

        Raises:
            FuseBlownError: `check` raised it, or a signal made the block fail; its cause is then Spark's exception.
                All other exceptions pass unchanged.
            LimitExceededError: the block exceeded one of its limits and failed.
        """
        self.check()
        doing = doing or self.name
        with self._open(doing) as block:
            seen = _generations(self.state())
            try:
                yield
            except FuseError:
                raise
            except Exception as error:
                stopped = self._reason(error, block, doing, seen)
                if stopped is None:
                    raise
                raise self._opened(stopped) from error

    @contextmanager
    def safe_point(self) -> Iterator[None]:
        """For a limited time, delay a stop of the current block until this `with` statement, such as a commit, ends."""
        own = [block for breaker, block in _blocks.get() if breaker is self]
        if own:
            with own[-1].safe_point():
                yield
        else:
            with self._open(self.name, Limits()) as block, block.safe_point():
                yield

    def __enter__(self) -> CircuitBreaker:  # noqa: PYI034  # Self needs Python 3.11
        guard = self.guard()
        guard.__enter__()
        _guards.set((*_guards.get(), guard))
        return self

    def __exit__(self, *error: object) -> bool | None:
        *outer, guard = _guards.get()
        _guards.set(tuple(outer))
        return bool(guard.__exit__(*error))

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that runs as a block; an `async def` function carries the tag except while suspended.

        Raises:
            TypeError: the function is a generator, whose body runs after the block has ended.
        """
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise TypeError(f"{function.__name__} is a generator: open a block with `with` inside of it instead")
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def asynchronous(*arguments: Any, **named: Any) -> Any:
                return await _Tagged(self, function(*arguments, **named), function.__name__)

            return asynchronous

        @functools.wraps(function)
        def synchronous(*arguments: Any, **named: Any) -> Any:
            with self.guard(self.name or function.__name__):
                return function(*arguments, **named)

        return synchronous

    def reset(self) -> None:
        """Close the fuse, after the job has handled the problem."""
        self._call("reset")

    def hold(self) -> None:
        """Prevent Sparkfuse from stopping anything in this application."""
        self._call("hold", True)

    def release(self) -> None:
        """Remove the hold."""
        self._call("hold", False)

    @contextmanager
    def _open(self, name: str, limits: Limits | None = None) -> Iterator[Block]:
        limits = limits or self._limits
        price = core_hour_price(self._spark, self._given_price) if limits.max_cost is not None else None
        block = Block(driver_of(self._spark), name, limits, price)
        token = _blocks.set((*_blocks.get(), (self, block)))
        block.begin()
        try:
            yield block
        finally:
            _blocks.reset(token)
            block.end()

    def _reason(self, error: Exception, block: Block, doing: str, seen: set[int]) -> FuseError | None:
        return (
            from_text(str(error), doing, block.tag)
            or block.expired_error(doing)
            or self._stopped_since(seen, doing, block.tag)
        )

    def _stopped_since(self, seen: set[int], doing: str, tag: str) -> FuseError | None:
        """Return the reason from the plugin's state, because the exception of a stopped application has none."""
        for event in reversed(self.state()["events"]):
            stopped = event.get("outcome") in _STOPPED and event.get("action") != "warn"
            own = event.get("action") == "stop_application" or any(
                each.endswith(tag) for each in event.get("blocks", ())
            )
            if stopped and own and event.get("generation") not in seen:
                return from_event(event, doing)
        return None

    def _report_warnings(self, events: list[dict[str, Any]]) -> None:
        new = [event for event in events if event.get("sequence", 0) > self._warned_until]
        self._warned_until = max([self._warned_until, *(event.get("sequence", 0) for event in new)])
        for event in new:
            if event.get("outcome") in ("warned", "held"):
                warning = from_event(event, self.name, FuseWarnedError)
                if self._on_warn == "raise":
                    raise warning
                if callable(self._on_warn):
                    self._on_warn(warning)
                else:
                    log.warning("%s", warning)

    def _opened(self, error: FuseError) -> FuseError:
        if self._on_open is not None:
            self._on_open(error)
        return error

    def _call(self, method: str, *arguments: bool) -> None:
        try:
            getattr(fuse_of(self._spark), method)(*arguments)
        except Exception:  # without the plugin, there is no object to call
            return


_guards: ContextVar[tuple[Any, ...]] = ContextVar("sparkfuse_guards", default=())


class _Tagged:
    """Runs a coroutine as a block: its thread carries the tag only between two suspensions."""

    def __init__(self, breaker: CircuitBreaker, coroutine: Any, name: str) -> None:
        self._breaker, self._coroutine, self._name = breaker, coroutine, name

    def __await__(self) -> Generator[Any, Any, Any]:
        with self._breaker.guard(self._breaker.name or self._name):
            [*_, (_, block)] = _blocks.get()
            step: Callable[[], Any] = functools.partial(self._coroutine.send, None)
            while True:
                try:
                    awaited = step()
                except StopIteration as done:
                    return done.value
                block.suspend()
                try:
                    sent = yield awaited
                except BaseException as error:  # the coroutine may handle the error, such as a cancellation
                    step = functools.partial(self._coroutine.throw, error)
                else:
                    step = functools.partial(self._coroutine.send, sent)
                finally:
                    block.resume()


def _stops(state: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the events of acts that stop work; an act that failed, a warning and a hold stop nothing."""
    return [event for event in state["events"] if event.get("outcome") in _STOPPED and event.get("action") != "warn"]


def _generations(state: dict[str, Any]) -> set[int]:
    return {event.get("generation") for event in state["events"]}
