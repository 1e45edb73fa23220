"""The steps as Flink operators: their keys, their state and their timers.

The logic of the steps is in separate modules.
"""
