"""Imports the fixtures of the integration tests."""

from __future__ import annotations

from tests.integration.collectors.conftest import facts, run_job, topics

__all__ = ["facts", "run_job", "topics"]
