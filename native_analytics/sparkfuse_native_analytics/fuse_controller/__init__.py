"""The fuse controller: decides whether to stop a runaway job, sends signed signals, and records each step."""
