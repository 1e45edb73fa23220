"""Evaluates rules on the store's history: how often they would have paged, and which jobs they would have stopped."""

from sparkfuse_native_analytics.backtest.ended_runs import StoreOlderError
from sparkfuse_native_analytics.backtest.live_replay import PolicyReplay, replay_live_rows
from sparkfuse_native_analytics.backtest.replay import Backtest, JobResult, RuleResult, backtest

__all__ = ["Backtest", "JobResult", "PolicyReplay", "RuleResult", "StoreOlderError", "backtest", "replay_live_rows"]
