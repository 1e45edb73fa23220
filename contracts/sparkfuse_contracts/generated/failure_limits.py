"""Generated from contracts/shared/failure_limits.yaml; do not edit."""

MOST_CLASSES = 32
MOST_HOSTS = 32
MOST_TASKS = 1000
