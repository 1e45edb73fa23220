"""Switches off Beam's sampler of bundles.

For each bundle, Beam starts a thread that wakes up every few milliseconds to measure where the bundle spends its time,
and waits for that thread at the end of the bundle. Flink does not use these measurements. This module depends on the
internals of Beam's StateSampler: check it when the version of Beam changes.
"""

from __future__ import annotations

import threading
from typing import Any

from apache_beam.runners.worker import statesampler

# Beam's own annotations do not allow to replace its methods.
_beam: Any = statesampler


def stop_sampling() -> None:
    """Make the samplers of this process measure nothing; they only record which bundle runs in which thread."""
    _beam.StateSampler.start = _start
    _beam.StateSampler.stop = _stop


def _start(sampler: Any) -> None:
    sampler.tracked_thread = threading.current_thread()
    _beam.set_current_tracker(sampler)
    sampler.started = True


def _stop(sampler: Any) -> None:
    _beam.set_current_tracker(None)
    sampler.finished = True
