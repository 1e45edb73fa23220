"""Refuses retries of Airflow tasks that would fail in the same way again, for Airflow 2.10 and later.

The package `sparkfuse.airflow` needs only Airflow and `sparkfuse` without extras. See docs/airflow.md.
"""

from sparkfuse.airflow.retries import guarded, refuse_doomed_retries
from sparkfuse.airflow.verdict import Verdict

__all__ = ["Verdict", "guarded", "refuse_doomed_retries"]
