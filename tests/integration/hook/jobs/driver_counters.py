"""Prints the driver's own counters of running stages; the hook compares these counters with its policy."""

from __future__ import annotations

import json
import threading
from typing import Any


def print_counters(spark: Any, every_seconds: float = 1.0) -> threading.Event:
    """Print one line `COUNTERS {stage: {column: value}}` at each interval until the returned event is set."""
    registry = _field(_plugin(spark.sparkContext._jsc.sc()), "registry")
    tracker, stopped = spark.sparkContext.statusTracker(), threading.Event()

    def run() -> None:
        while not stopped.wait(every_seconds):
            columns = {stage: dict(registry.columns(stage, 0)) for stage in tracker.getActiveStageIds()}
            print("COUNTERS", json.dumps(columns), flush=True)

    threading.Thread(target=run, daemon=True).start()
    return stopped


def _plugin(context: Any) -> Any:
    """Return the driver's part of the plugin, to which Spark gives no public access."""
    plugins = _field(_field(context, "_plugins").get(), "driverPlugins")
    return plugins.head()._2()


def _field(holder: Any, name: str) -> Any:
    field = holder.getClass().getDeclaredField(name)
    field.setAccessible(True)
    return field.get(holder)
