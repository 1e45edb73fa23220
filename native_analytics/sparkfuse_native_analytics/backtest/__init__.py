"""Evaluates rules on the store's history: which pages and which stops of jobs the rules would have caused."""

from sparkfuse_native_analytics.backtest.ended_runs import StoreOlderError
from sparkfuse_native_analytics.backtest.replay import Backtest, JobResult, RuleResult, backtest

__all__ = ["Backtest", "JobResult", "RuleResult", "StoreOlderError", "backtest"]
