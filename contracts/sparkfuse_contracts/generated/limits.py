"""Generated from contracts/shared/limits.yaml; do not edit."""

MOST_STAGES = 4096
MOST_METRICS = 4096
DEAD_LETTER_PAYLOAD_BYTES = 65536
MOVING_TASK_ROW_MS = 30000
