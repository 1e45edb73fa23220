"""Compares two runs: which stages changed and why, in parts that add up exactly to the difference in duration."""

from sparkfuse_native_analytics.compare.comparison import Comparison, compare
from sparkfuse_native_analytics.compare.run import Attempt, Run, Stage

__all__ = ["Attempt", "Comparison", "Run", "Stage", "compare"]
