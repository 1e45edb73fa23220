"""The command line of Sparkfuse, and the circuit breaker for job code."""
