"""The text output of `sparkfuse analyze` and `sparkfuse compare`."""
