"""How `CircuitBreaker` reaches the driver: through the plugin, through job tags without the plugin, or through Connect.

This module uses the standard library only.
"""

from __future__ import annotations

import json
import logging
from typing import Any

from sparkfuse.hook_prices import CORE_HOUR, CURRENCY

log = logging.getLogger("sparkfuse")
PRICE = "spark.sparkfuse.price.coreHour"
"""The property to which `sparkfuse up` writes the price from sparkfuse.yaml: a number, or off."""
_warned: set[str] = set()


def warn_once(text: str) -> None:
    """Log a warning, the first time only."""
    if text not in _warned:
        _warned.add(text)
        log.warning(text)


class PluginDriver:
    """The plugin in this driver's JVM. The plugin itself counts usage and cancels jobs."""

    cancels = False

    def __init__(self, limits: Any) -> None:
        self._limits = limits

    def begin(self, tag: str) -> None:
        """Begin a block on the calling thread."""
        self._limits.begin(tag)

    def end(self, tag: str) -> dict[str, Any]:
        """End a block on the calling thread and return its report."""
        return dict(json.loads(self._limits.end(tag)))

    def enter(self, tag: str) -> None:
        """Add the tag to the next jobs of the calling thread."""
        self._limits.enter(tag)

    def leave(self, tag: str) -> None:
        """Remove the tag from the next jobs of the calling thread."""
        self._limits.leave(tag)

    def safe_point(self, tag: str, begins: bool) -> None:
        """Report to the plugin that a safe point begins or ends."""
        self._limits.safePoint(tag, begins)

    def cancel(self, tag: str) -> None:
        """Do nothing: the plugin cancels the jobs."""


class TagDriver:
    """Job tags of Spark 3.5 and later, or operation tags of Connect; Python cancels the jobs after `max_seconds`."""

    cancels = True

    def __init__(self, add: Any, remove: Any, cancel: Any) -> None:
        self._add, self._remove, self._cancel = add, remove, cancel

    def begin(self, tag: str) -> None:
        """Begin a block on the calling thread."""
        self._add(tag)

    def end(self, tag: str) -> dict[str, Any]:
        """End a block on the calling thread; there is no report."""
        self._remove(tag)
        return {}

    def enter(self, tag: str) -> None:
        """Add the tag to the next jobs of the calling thread."""
        self._add(tag)

    def leave(self, tag: str) -> None:
        """Remove the tag from the next jobs of the calling thread."""
        self._remove(tag)

    def safe_point(self, tag: str, begins: bool) -> None:
        """Do nothing: the timer of the block waits for safe points by itself."""

    def cancel(self, tag: str) -> None:
        """Cancel the jobs that carry the tag."""
        self._cancel(tag)


def core_hour_price(spark: Any, given: float | None = None) -> float | None:
    """Return the price of a core-hour: the given price, the platform's, or the list price; None if the price is off."""
    if given:
        return given
    try:
        text = str(spark.conf.get(PRICE, ""))
    except Exception:  # a SparkContext has no `conf`; the list price is better than no limit
        text = ""
    if not text:
        warn_once(f"Sparkfuse: max_cost uses the list price of a core-hour, {CORE_HOUR} {CURRENCY}; {PRICE} is not set")
        return CORE_HOUR
    try:
        return float(text)
    except ValueError:  # the price is off or not a number: the job continues without the cost limit
        warn_once(f"Sparkfuse: max_cost has no effect, because {PRICE} is {text!r}")
        return None


def fuse_of(spark: Any) -> Any:
    """Return the plugin's class Fuse; raises an exception if there is no JVM."""
    context = getattr(spark, "sparkContext", spark)
    return context._jvm.io.sparkfuse.spark.Fuse  # noqa: SLF001  # the only way in


def driver_of(spark: Any) -> PluginDriver | TagDriver | None:
    """Return the object that reaches the driver of a session, or None if no block can be limited."""
    if hasattr(spark, "interruptTag") and type(spark).__module__.startswith("pyspark.sql.connect"):
        return TagDriver(spark.addTag, spark.removeTag, spark.interruptTag)
    try:
        limits = fuse_of(spark).limits()
        if limits is not None:
            return PluginDriver(limits)
    except Exception:  # noqa: S110  # no JVM or no plugin: the next lines warn
        pass
    try:
        context = getattr(spark, "sparkContext", spark)
        tags = (context.addJobTag, context.removeJobTag, context.cancelJobsWithTag)
    except Exception:  # there is no SparkContext, or Spark is older than 3.5
        warn_once("Sparkfuse: the plugin is absent or off, so blocks have no limits")
        return None
    warn_once("Sparkfuse: the plugin is absent or off, so blocks are limited by max_seconds only")
    return TagDriver(*tags)
