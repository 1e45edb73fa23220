"""The name of the artificial job that measures the pipeline from a fact to its finding."""

# The sender posts no alerts for findings of this job.
CANARY_JOB = "sparkfuse-canary"
