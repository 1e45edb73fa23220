"""The demonstration: real Spark jobs with real problems, which Sparkfuse detects, reports and stops."""
